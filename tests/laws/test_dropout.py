"""Dropout is applied wherever the settings promise it, and to as much as they promise.

How many numbers are drawn for each position is the same however a model is written: in one operation or in a loop, with one
dropout module or several. Between the layers of an encoder torch's own recurrent layers drop; `tests/layers` tests those.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.laws.architectures import ARCHITECTURES, FAMILIES, Architecture, bytenet, recurrent, transformer
from torch import Tensor

from dragoman.laws.examples import fresh_model
from dragoman.laws.of_models import SOURCE, TARGET
from dragoman.layers.dropout import Dropout

DROPPED = {
    # name: widths of all that the encoder drops at each position, and the decoder
    "plain gru": ([6, 6], [6, 8]),
    "bahdanau, two gru layers": ([6, 6], [6, 8, 4]),
    "bahdanau, two lstm layers, tied": ([6, 6], [6, 8, 4]),
    "luong, two gru layers, input feeding": ([6, 6], [6, 8, 8]),
    "luong additive": ([6, 6], [6, 8]),
    "posterior": ([6, 6], [6, 5 * 8]),  # features of each of the five source positions
    "gnmt": ([8, 16, 8, 8], [8, 8, 16, 16, 16, 8]),
    "moe, noisy": ([8, 8, 8, 8], [8, 8, 8, 8]),
    "moe, balanced, tied": ([8, 8, 8, 8], [8, 8, 8, 8]),
    "transformer pre-norm, sinusoidal": ([8, 2 * 8, 2 * 8], [8, 3 * 8, 3 * 8]),
    "transformer post-norm, learned": ([8, 2 * 8, 2 * 8], [8, 3 * 8, 3 * 8]),
    "transformer, as t5": ([8, 2 * 8, 2 * 8], [8, 3 * 8, 3 * 8]),
    "transformer, experts": ([8, 2 * 8, 2 * 8], [8, 3 * 8, 3 * 8]),
    "transformer, lexical": ([8, 8, 2 * 8, 2 * 8], [8, 3 * 8, 3 * 8]),  # embeddings that reach the output too
    "decoder-only": ([], [8, 2 * 8, 2 * 8]),
    "deep-att": ([6, 2 * 3 * 4], [6, 3 * 4]),
    "convs2s dot": ([6, 8, 8], [6, 8, 8, 5]),
}


def dropped(architecture: Architecture, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the numbers that each side of a model drops, or may drop, in one pass of training."""
    model = fresh_model(architecture).train()
    sides = {id(module): side for side in ("encoder", "decoder") for module in getattr(model, side).modules()}
    counts: Counter[str] = Counter()
    draw = Dropout._keep

    def counted(layer: Dropout, states: Tensor) -> Tensor:
        counts[sides[id(layer)]] += states.numel()
        return draw(layer, states)

    monkeypatch.setattr(Dropout, "_keep", counted)
    model(SOURCE, TARGET)
    return counts


@pytest.mark.parametrize("name", DROPPED)
def test_every_dropout_that_settings_promise_is_applied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = dropped(ARCHITECTURES[name], monkeypatch)
    encoder, decoder = DROPPED[name]
    assert counts["encoder"] == SOURCE.ids.numel() * sum(encoder)
    assert counts["decoder"] == TARGET.numel() * sum(decoder)


def test_every_family_says_what_it_drops() -> None:
    assert set(FAMILIES) - {"bytenet"} <= set(DROPPED)


def test_bytenet_drops_over_the_length_that_the_source_is_unfolded_to(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = dropped(bytenet(stretch=1.0), monkeypatch)  # channels 4, two sets of two blocks, embeddings of 8
    assert counts["encoder"] == SOURCE.ids.numel() * (8 + 4 * 8)
    assert counts["decoder"] == TARGET.numel() * (8 + 4 * 8)


def test_feed_forward_networks_drop_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = dropped(transformer(dropout=0.0, feed_forward_dropout=0.2), monkeypatch)
    assert counts == {"encoder": SOURCE.ids.numel() * 2 * 12, "decoder": TARGET.numel() * 2 * 12}


def test_outer_dropout_leaves_what_is_between_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = dropped(recurrent(layers=2, dropout=0.0, outer_dropout=0.3), monkeypatch)
    assert counts == {"encoder": SOURCE.ids.numel() * (6 + 6), "decoder": TARGET.numel() * (6 + 4)}
    monkeypatch.undo()
    assert dropped(recurrent(layers=2, outer_dropout=0.0), monkeypatch) == {"decoder": TARGET.numel() * 8}


@pytest.mark.parametrize(
    ("architecture", "times"),
    [
        (transformer(), 2 + 2 + 2),
        (transformer(self_score="additive", cross_score="additive"), 2 + 2 + 2),
        (recurrent(), TARGET.shape[1]),
        (recurrent(decoder="luong"), 1),
        (recurrent(decoder="luong", input_feeding=True), TARGET.shape[1]),
    ],
    ids=["transformer", "transformer, additive", "bahdanau", "luong", "luong, input feeding"],
)
def test_every_attention_drops_weights(architecture: Architecture, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    def watched(function: Callable[..., Tensor], name: str, place: int) -> Callable[..., Tensor]:
        def call(*given: Any, **named: Any) -> Tensor:
            rates.append(named[name] if name in named else given[place])
            return function(*given, **named)

        return call

    monkeypatch.setattr(F, "dropout", watched(F.dropout, "p", 1))
    fused = watched(F.scaled_dot_product_attention, "dropout_p", 4)
    monkeypatch.setattr(F, "scaled_dot_product_attention", fused)
    model = fresh_model(architecture.model_copy(update={"dropout": 0.0, "attention_dropout": 0.25})).train()
    model(SOURCE, TARGET)
    assert rates == [0.25] * times
    rates.clear()
    with torch.no_grad():
        model.eval()(SOURCE, TARGET)
    assert set(rates) <= {0.0}
