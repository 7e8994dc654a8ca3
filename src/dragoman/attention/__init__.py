"""Attention: a score, then mask, softmax, average.

`scores` says how well queries match keys, `masks` who may see whom, `attend` is the only softmax over keys, and
`single_head` and `multi_head` put them together.
"""
