"""What a lexical module adds, beside the equation of the paper."""

import math

import torch

from dragoman.layers.lexical import LexicalModule


def test_it_is_the_equation_of_the_paper() -> None:
    torch.manual_seed(1)
    module = LexicalModule(3).double()
    weights, embedded = torch.rand(1, 2, 4).double().softmax(-1), torch.randn(1, 4, 3).double()
    result = module(weights, embedded).detach()
    weight, bias = module.map.weight.tolist(), module.map.bias.tolist()
    for step in range(2):
        sums = [sum(float(weights[0, step, s] * embedded[0, s, k]) for s in range(4)) for k in range(3)]
        seen = [math.tanh(one) for one in sums]
        for k in range(3):
            mapped = math.tanh(bias[k] + sum(weight[k][j] * seen[j] for j in range(3)))
            assert math.isclose(float(result[0, step, k]), mapped + seen[k], rel_tol=1e-9)


def test_hypotheses_share_the_embeddings_of_their_sentence() -> None:
    module = LexicalModule(3)
    weights, embedded = torch.rand(6, 2, 4), torch.randn(2, 4, 3)
    torch.testing.assert_close(module(weights, embedded), module(weights, embedded.repeat_interleave(3, 0)))


def test_a_position_that_looks_at_one_word_says_what_that_word_says() -> None:
    module = LexicalModule(3)
    embedded = torch.randn(1, 4, 3)
    torch.testing.assert_close(module(torch.eye(4)[None], embedded), module.translate(embedded))
