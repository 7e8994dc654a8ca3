"""Attention with every score against its paper's equation."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.reference import loops

from dragoman.attention import masks
from dragoman.attention.multi_head import MultiHead
from dragoman.attention.scores import Additive, Concat, Cosine, General, Product, ScaledGeneral, Score, build_score
from dragoman.attention.single_head import SingleHead

KEYS = 5
LENGTHS = [3, 5]


def numbers(*shape: int, seed: int = 1) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def equation(score: Score) -> Callable[[loops.Vector, loops.Vector], float]:
    """The equation with the module's own parameters."""
    match score:
        case Concat():
            matrix = torch.cat([score.query.weight, score.key.weight], 1).tolist()
            return loops.concat(matrix, score.energy.weight[0].tolist())
        case Additive():
            return loops.additive(
                score.query.weight.tolist(), score.key.weight.tolist(), score.energy.weight[0].tolist()
            )
        case Product():
            return loops.product(score.query.weight.tolist(), score.key.weight.tolist(), score.energy.tolist())
        case ScaledGeneral():
            return loops.scaled_general(score.key.weight.tolist())
        case General():
            return loops.general(score.key.weight.tolist())
        case Cosine():
            return loops.cosine(math.log(1 + math.exp(float(score.raw_strength.detach()))))
    return loops.scaled_dot if type(score).__name__ == "ScaledDot" else loops.dot


def check_every_content_based_score(name: Any, query_dim: int = 4, key_dim: int = 4) -> None:
    """Compare weights and context of two sentences and three queries with the loops."""
    torch.manual_seed(2)
    score = build_score(name, query_dim, key_dim, hidden=6, positions=KEYS)
    if isinstance(score, Product):
        torch.nn.init.normal_(score.energy)
    attention = SingleHead(score, query_dim)
    queries, keys, values = numbers(2, 3, query_dim), numbers(2, KEYS, key_dim, seed=2), numbers(2, KEYS, 3, seed=3)
    mask = masks.from_lengths(torch.tensor(LENGTHS), KEYS)
    attended = attention(queries, attention.prepare(keys, values), mask, need_weights=True)
    for row, length in enumerate(LENGTHS):
        real = [index < length for index in range(KEYS)]
        for place, query in enumerate(queries[row].tolist()):
            weights, context = loops.attention(
                equation(attention.score), query, keys[row].tolist(), values[row].tolist(), real
            )
            torch.testing.assert_close(attended.weights[row, 0, place], torch.tensor(weights), rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(attended.context[row, place], torch.tensor(context), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["additive", "dot", "scaled_dot", "general", "scaled_general", "concat", "product", "cosine"]
)
def test_content_based_attention_is_its_equation(name: Any) -> None:
    check_every_content_based_score(name)


@pytest.mark.parametrize("name", ["additive", "general", "scaled_general", "concat", "product"])
def test_queries_and_keys_may_differ_in_size(name: Any) -> None:
    check_every_content_based_score(name, query_dim=3, key_dim=7)


def test_cosine_projects_queries_of_another_size() -> None:
    score = build_score("cosine", 3, 4, hidden=1, positions=1)
    query, key = numbers(1, 1, 3), numbers(1, 1, 4)
    projected = loops.times(score.query.weight.tolist(), query[0, 0].tolist())
    expected = loops.cosine(float(score.strength.detach()))(projected, key[0, 0].tolist())
    assert score(query, score.prepare(key)).item() == pytest.approx(expected, rel=1e-5)


def test_location_attention_is_a_softmax_over_positions() -> None:
    attention = SingleHead(build_score("location", 4, 4, hidden=1, positions=9), 4)
    queries, states = numbers(1, 1, 4), numbers(1, KEYS, 3)
    attended = attention(queries, attention.prepare(states, states), need_weights=True)
    scores = loops.times(attention.score.position.weight.tolist(), queries[0, 0].tolist())[:KEYS]
    torch.testing.assert_close(attended.weights[0, 0, 0], torch.tensor(loops.softmax(scores)))


def test_tanh_is_of_the_sum_not_of_each_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_each(score: Additive, queries: Any, keys: Any) -> Any:
        hidden = torch.tanh(score.query(queries))[..., :, None, :] + torch.tanh(keys)[..., None, :, :]
        return score.energy(hidden).squeeze(-1)

    monkeypatch.setattr(Additive, "forward", of_each)
    with pytest.raises(AssertionError):
        check_every_content_based_score("additive")


@pytest.mark.parametrize("asked", [True, False])
def test_multi_head_attention_is_its_equation(asked: bool) -> None:
    torch.manual_seed(4)
    module = MultiHead(6, 3)
    for projection in (module.query, module.key_value, module.output):
        torch.nn.init.normal_(projection.bias)
    queries, keys = numbers(1, 2, 6), numbers(1, KEYS, 6, seed=2)
    sees = [[True, True, False, True, False], [False, True, True, True, True]]
    attended = module(queries, module.prepare(keys, keys), torch.tensor([sees]), need_weights=asked)
    (key, value), (key_bias, value_bias) = module.key_value.weight.chunk(2), module.key_value.bias.chunk(2)
    projections = {
        "query": (module.query.weight.tolist(), module.query.bias.tolist()),
        "key": (key.tolist(), key_bias.tolist()),
        "value": (value.tolist(), value_bias.tolist()),
        "output": (module.output.weight.tolist(), module.output.bias.tolist()),
    }
    expected = loops.multi_head(queries[0].tolist(), keys[0].tolist(), heads=3, projections=projections, sees=sees)
    torch.testing.assert_close(attended.context[0], torch.tensor(expected), rtol=1e-5, atol=1e-6)
