"""What scores have in common, and where they differ. Their equations are tested in `tests/reference`."""

from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from dragoman.attention.multi_head import MultiHead
from dragoman.attention.scores import (
    CONTENT_BASED,
    PRODUCTS,
    Additive,
    Cosine,
    Location,
    Multiplying,
    ScaledDot,
    Score,
    ScoreName,
    build_score,
)
from dragoman.attention.single_head import SingleHead
from dragoman.errors import InputError, SettingsError


def score_of(name: Any, query_dim: int = 4, key_dim: int = 4) -> Any:
    return build_score(name, query_dim, key_dim, hidden=5, positions=6)


@pytest.mark.parametrize("name", get_args(ScoreName))
def test_every_query_is_scored_against_every_key(name: str) -> None:
    score = score_of(name)
    keys = torch.randn(2, 3, 4)
    assert score(torch.randn(2, 5, 4), score.prepare(keys)).shape == (2, 5, 3)
    assert score(torch.randn(2, 7, 5, 4), score.prepare(torch.randn(2, 7, 3, 4))).shape == (2, 7, 5, 3)


@pytest.mark.parametrize("name", get_args(ScoreName))
def test_only_location_ignores_what_the_keys_are(name: str) -> None:
    torch.manual_seed(1)
    score, queries = score_of(name), torch.randn(1, 2, 4)
    one, other = (score(queries, score.prepare(torch.randn(1, 3, 4))) for _ in range(2))
    assert torch.equal(one, other) == (name == "location")
    assert (name in CONTENT_BASED) == (name != "location")


@pytest.mark.parametrize("name", get_args(ScoreName))
def test_the_scores_named_products_are_those_that_fused_kernels_compute(name: str) -> None:
    assert (name in PRODUCTS) == (type(score_of(name)).forward is Multiplying.forward)


@pytest.mark.parametrize("name", ["additive", "general", "concat", "product", "cosine", "location"])
def test_every_parameter_of_a_score_learns(name: str) -> None:
    score = score_of(name)
    scores = score(torch.randn(1, 2, 4), score.prepare(torch.randn(1, 6, 4)))
    scores.square().sum().backward()
    for parameter_name, parameter in score.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), parameter_name


@pytest.mark.parametrize("name", ["dot", "scaled_dot"])
def test_sizes_that_cannot_be_multiplied_are_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"`{name}`.* 4 .* 6.*`scaled_general`"):
        score_of(name, key_dim=6)


def test_a_source_longer_than_the_positions_is_refused() -> None:
    score = Location(4, 6)
    with pytest.raises(InputError, match=r" 7 tokens.* 6 positions.*model\.max_positions"):
        score(torch.randn(1, 1, 4), score.prepare(torch.randn(1, 7, 4)))


def test_the_strength_of_cosine_is_positive_and_starts_at_ten() -> None:
    score = Cosine(4, 4)
    assert score.strength.item() == pytest.approx(10, abs=1e-3)
    torch.nn.init.constant_(score.raw_strength, -3.0)
    assert score.strength.item() > 0


def test_a_key_of_zeros_has_a_cosine_of_zero() -> None:
    score = Cosine(4, 4)
    scores = score(torch.randn(1, 1, 4), score.prepare(torch.zeros(1, 2, 4)))
    assert not scores.any()


def test_concat_starts_as_one_matrix_over_query_and_key() -> None:
    bound = (40 + 60) ** -0.5
    torch.manual_seed(1)
    score = score_of("concat", 40, 60)
    for half in (score.query.weight, score.key.weight):
        assert half.abs().max().item() == pytest.approx(bound, rel=0.05)


def test_scores_of_product_start_small_with_features_that_count_equally() -> None:
    assert score_of("product").energy.tolist() == pytest.approx([5**-0.5] * 5)


class Warm(ScaledDot):
    def project(self, queries: Tensor) -> Tensor:
        return super().project(queries) * 5


class Rectified(Additive):
    def _hidden(self, queries: Tensor, keys: Tensor) -> Tensor:
        return (self.project(queries)[..., :, None, :] + keys[..., None, :, :]).relu()


@pytest.mark.parametrize("score", [Warm(), Rectified(4, 4, 5)])
def test_a_score_made_from_another_is_computed_as_it_says_itself(score: Score) -> None:
    assert score.parts(4) is None and not score.formula
    attention, states = MultiHead(8, 2).eval(), torch.randn(2, 3, 8)
    attention.score = score
    memory = attention.prepare(states, states)
    asked = attention(states, memory, need_weights=True).context
    torch.testing.assert_close(attention(states, memory).context, asked)


@pytest.mark.parametrize("name", get_args(ScoreName))
def test_every_score_has_a_formula_and_terms_that_add_up_to_it(name: ScoreName) -> None:
    torch.manual_seed(1)
    score = build_score(name, 4, 4, hidden=5, positions=9)
    queries, keys = torch.randn(2, 3, 4), score.prepare(torch.randn(2, 6, 4))
    torch.testing.assert_close(score.terms(queries, keys).sum(-1), score(queries, keys))
    assert score.formula


class Doubled(Cosine):
    """A score that changes another one's scores, but not what its page would show of them."""

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return 2 * super().forward(queries, keys)


class DoubledKeys(Cosine):
    """A score that changes another one's keys alone."""

    def prepare(self, keys: Tensor) -> Tensor:
        return 2 * super().prepare(keys)


@pytest.mark.parametrize(("kind", "features"), [(Doubled, 1), (DoubledKeys, 4)])
def test_terms_sum_to_the_score_of_a_class_that_extends_another(kind: type[Cosine], features: int) -> None:
    score, queries = kind(4, 4), torch.randn(1, 2, 4)
    keys = score.prepare(torch.randn(1, 3, 4))
    terms = score.terms(queries, keys)
    assert terms.shape == (1, 2, 3, features)
    torch.testing.assert_close(terms.sum(-1), score(queries, keys))


class Wrong(Score):
    """What a newcomer may return instead of one number for each query and key: torch would repeat it to fit."""

    def __init__(self, change: Any) -> None:
        super().__init__()
        self.change = change

    def forward(self, queries: Any, keys: Any) -> Any:
        return self.change(queries @ keys.transpose(-1, -2))


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda scores: scores[..., :1], r"\(2, 1, 4, 1\)"),
        (lambda scores: scores[:, :, :1], r"\(2, 1, 1, 3\)"),
        (lambda scores: scores.transpose(-1, -2), r"\(2, 1, 3, 4\)"),
        (lambda scores: scores[..., None], r"\(2, 1, 4, 3, 1\)"),
        (lambda scores: None, "no tensor but NoneType"),
    ],
    ids=["of queries", "of keys", "transposed", "an axis too many", "nothing"],
)
def test_a_score_that_returns_no_number_for_each_pair_is_refused(change: Any, given: str) -> None:
    single, multi = SingleHead(Wrong(change), 6), MultiHead(6, 1)
    multi.score = Wrong(change)
    for attention in (single, multi):
        memory = attention.prepare(torch.randn(2, 3, 6), torch.randn(2, 3, 6))
        with pytest.raises(SettingsError, match=rf"`Wrong` returned .*{given}.* must return .* shape \(2, 1, 4, 3\)"):
            attention(torch.randn(2, 4, 6), memory)
