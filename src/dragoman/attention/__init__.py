"""Attention: a score, then mask, softmax, average.

`scores` measures how well queries match keys, `masks` says which keys a query may see, `attend` holds the only softmax over
keys, and `single_head` and `multi_head` combine them.
"""
