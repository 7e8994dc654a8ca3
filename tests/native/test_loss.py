"""The loss in C++: what it leaves in place of the logits. Sums and gradients are compared with torch's in `tests/reference`."""

import pytest
import torch
from tests.native.compiled import require
from torch import Tensor

from dragoman.layers.cross_entropy import linear_cross_entropy
from dragoman.native import loss
from dragoman.native.compilation import LOSS
from dragoman.native.loss import formulas, losses
from dragoman.training.flops import counting


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    require(LOSS)


def test_logits_become_their_gradient() -> None:
    logits = torch.randn(7, 11, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 11, (7,))
    expected = torch.nn.functional.cross_entropy(logits, labels, reduction="none", label_smoothing=0.1)
    expected.sum().backward()
    overwritten = logits.detach().clone()
    smoothed, plain = losses(overwritten, None, labels, smoothing=0.1)
    torch.testing.assert_close(smoothed, expected.detach())
    torch.testing.assert_close(plain, torch.nn.functional.cross_entropy(logits.detach(), labels, reduction="none"))
    torch.testing.assert_close(overwritten - 0.1 / 11, logits.grad)


@pytest.mark.parametrize(
    ("logits", "bias", "labels"),
    [
        (torch.zeros(2, 3, dtype=torch.float16), None, torch.tensor([0, 1])),
        (torch.zeros(3, 2).T, None, torch.tensor([0, 1])),
        (torch.zeros(2, 0), None, torch.tensor([0, 0])),
        (torch.zeros(2, 3), torch.zeros(2), torch.tensor([0, 1])),
        (torch.zeros(2, 3), torch.zeros(3, dtype=torch.float64), torch.tensor([0, 1])),
        (torch.zeros(2, 3), None, torch.tensor([0, 1], dtype=torch.int32)),
        (torch.zeros(2, 3), None, torch.tensor([0])),
        (torch.zeros(2, 3), None, torch.tensor([0, 3])),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_overwritten(
    logits: Tensor, bias: Tensor | None, labels: Tensor
) -> None:
    with pytest.raises(RuntimeError):
        torch.ops.dragoman_loss.losses.default(logits, bias, labels, 0.0)
    assert not logits.any()


def test_it_counts_as_many_operations_as_torchs() -> None:
    features, weight, labels = torch.randn(9, 6), torch.randn(40, 6, requires_grad=True), torch.randint(0, 40, (9,))
    counts = []
    for native in (False, True):
        with counting() as count:
            linear_cross_entropy(features, weight, None, labels=labels, smoothing=0.1, native=native)
        counts.append(count.flops)
    assert counts[1] == pytest.approx(counts[0], rel=0.05)


def test_operations_are_counted_only_where_the_library_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert formulas().keys() == {torch.ops.dragoman_loss.losses}
    monkeypatch.setattr(loss, "loaded", lambda part: False)
    assert formulas() == {}
