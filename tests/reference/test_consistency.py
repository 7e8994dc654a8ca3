"""R-Drop and SimCut against their equations, computed token by token from the logits of two passes."""

from copy import deepcopy
from functools import partial

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from tests.reference import loops
from torch import Tensor

from dragoman.interfaces import Batch
from dragoman.laws.examples import batch, fresh_model
from dragoman.layers.embedding import TokenEmbedding
from dragoman.special_ids import SPECIAL_IDS
from dragoman.training.consistency import twice
from dragoman.training.consistency_settings import RDropSettings, SimCutSettings
from dragoman.training.objectives import translation_loss

PAIRS = batch([5, 2, 4], [6, 3, 4])
SMOOTHING = 0.1
ALWAYS = 1 - 1e-12
"""So high a probability that everything which may be cut off is."""


UNTIED = {
    **{name: ARCHITECTURES[name] for name in ("luong additive", "convs2s dot")},
    "transformer": ARCHITECTURES["transformer pre-norm, sinusoidal"].model_copy(update={"tied": "none"}),
}
"""Architectures in which an embedding may be zero without its logit."""


def real_rows(logits: Tensor, pairs: Batch) -> list[list[float]]:
    """Return the logits of real target tokens."""
    rows: list[list[float]] = logits[pairs.real].tolist()
    return rows


def likelihood(rows: list[list[float]]) -> float:
    """Return the smoothed cross-entropy of the labels."""
    labels = PAIRS.labels[PAIRS.real].tolist()
    return sum(loops.smoothed_cross_entropy(row, label, SMOOTHING) for row, label in zip(rows, labels, strict=True))


def kl(first: list[list[float]], second: list[list[float]]) -> float:
    """Return KL(P || Q) summed over tokens."""
    return sum(loops.kl_divergence(p, q) for p, q in zip(first, second, strict=True))


@pytest.mark.parametrize("name", ["luong additive", "transformer pre-norm, sinusoidal"])
def test_r_drop_is_the_equation(name: str) -> None:
    model = fresh_model(ARCHITECTURES[name]).train()
    loss = partial(translation_loss, model, PAIRS, smoothing=SMOOTHING, consistency=RDropSettings(weight=2.5))
    torch.manual_seed(5)
    found = loss()
    torch.manual_seed(5)
    both = twice(PAIRS)
    p, q = (real_rows(half, PAIRS) for half in model(both.source, both.inputs).logits.chunk(2))
    assert kl(p, q) > 0.003
    expected = likelihood(p) + likelihood(q) + 2.5 * (kl(p, q) + kl(q, p)) / 2
    assert 2 * found.total.item() == pytest.approx(expected, rel=1e-4)
    assert found.tokens == len(p)


@pytest.mark.parametrize("name", UNTIED)
def test_simcut_is_the_equation(name: str) -> None:
    model = fresh_model(UNTIED[name]).eval()
    cut = deepcopy(model)
    for module in cut.modules():
        if isinstance(module, TokenEmbedding):
            module.weight.data[max(SPECIAL_IDS.all) + 1 :] = 0
    p, q = (real_rows(one(PAIRS.source, PAIRS.inputs).logits, PAIRS) for one in (model, cut))
    assert kl(p, q) > 0.003
    settings = SimCutSettings(weight=1.5, cutoff=ALWAYS)
    found = translation_loss(model, PAIRS, smoothing=SMOOTHING, consistency=settings)
    assert found.total.item() == pytest.approx(likelihood(p) + 1.5 * kl(p, q), rel=1e-4)
    assert found.tokens == len(p)
