"""From scores to the average. The kinds are tested one by one beside this; here is how they go together."""

from typing import get_args

import pytest
import torch

from dragoman.attention.attend import attend
from dragoman.attention.lookup import Lookup, LookupOptions
from dragoman.attention.settings import HardSettings, WeightsName, WindowSettings
from dragoman.interfaces import KeyValues


def example() -> tuple[torch.Tensor, torch.Tensor, KeyValues, torch.Tensor]:
    """Queries, scores, keys with values and a mask: two sentences, two heads, three queries, five keys."""
    torch.manual_seed(3)
    mask = torch.tensor([5, 3])[:, None, None, None] > torch.arange(5)
    queries, scores, values = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 3, 5), torch.randn(2, 2, 5, 6)
    return queries, scores, KeyValues(values, values), mask


@pytest.mark.parametrize("name", get_args(WeightsName))
def test_without_window_and_choice_it_is_attend(name: WeightsName) -> None:
    queries, scores, memory, mask = example()
    found = Lookup(4, LookupOptions(name))(queries, scores, memory, mask=mask)
    context, weights = attend(scores, memory.values, mask, normalizer=name)
    assert torch.equal(found.context, context) and torch.equal(found.weights, weights)


def test_only_softmax_and_average_alone_may_be_fused() -> None:
    window, hard = WindowSettings(kind="monotonic"), HardSettings(training="gumbel")
    assert Lookup(4, LookupOptions()).plain
    assert not any(
        Lookup(4, kind).plain
        for kind in (LookupOptions("sparsemax"), LookupOptions(window=window), LookupOptions(hard=hard))
    )


@pytest.mark.parametrize("training", ["reinforce", "gumbel"])
def test_the_context_is_the_value_chosen(training: str) -> None:
    queries, scores, memory, mask = example()
    lookup = Lookup(4, LookupOptions(hard=HardSettings(training=training, soft_share=0)))
    found = lookup(queries, scores, memory, mask=mask)
    chosen = found.weights.detach().argmax(-1)
    expected = memory.values.gather(2, chosen[..., None].expand(-1, -1, -1, 6))
    torch.testing.assert_close(found.context, expected)
    assert (found.choice is not None) == (training == "reinforce")
    assert lookup.eval()(queries, scores, memory, mask=mask).choice is None


def test_a_choice_is_made_within_the_window() -> None:
    queries, scores, memory, _ = example()
    kind = LookupOptions("entmax15", WindowSettings(kind="monotonic", reach=1), HardSettings(training="gumbel"))
    weights = Lookup(4, kind).eval()(queries, scores, memory, mask=None, offset=0).weights
    assert weights.argmax(-1).amax((0, 1)).tolist() <= [1, 2, 3]


def test_dropout_is_for_training_only() -> None:
    queries, scores, memory, mask = example()
    lookup = Lookup(4, LookupOptions(), dropout=0.5)
    assert not torch.equal(
        lookup(queries, scores, memory, mask=mask).context, lookup(queries, scores, memory, mask=mask).context
    )
    lookup.eval()
    assert torch.equal(
        lookup(queries, scores, memory, mask=mask).context, lookup(queries, scores, memory, mask=mask).context
    )
