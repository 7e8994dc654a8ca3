"""Cross-entropy in pieces. Its sums and gradients are compared with torch's in `tests/reference`."""

import pytest
import torch
from tests.native.compiled import require

from dragoman.layers.cross_entropy import _rare_nll, _softmax_loss, linear_cross_entropy
from dragoman.native.compilation import LOSS


def test_no_tokens_cost_nothing() -> None:
    weight = torch.randn(5, 3, requires_grad=True)
    total, plain = linear_cross_entropy(torch.zeros(0, 3), weight, None, labels=torch.zeros(0, dtype=torch.int64))
    total.backward()
    assert total.item() == plain.item() == 0
    assert not weight.grad.any()


def test_the_plain_sum_has_no_gradient() -> None:
    total, plain = linear_cross_entropy(
        torch.randn(2, 3), torch.randn(5, 3, requires_grad=True), None, labels=torch.tensor([1, 4])
    )
    assert total.requires_grad and not plain.requires_grad


def test_it_works_without_gradients() -> None:
    features, weight = torch.randn(2, 3), torch.randn(5, 3)
    with torch.inference_mode():
        total, plain = linear_cross_entropy(features, weight, None, labels=torch.tensor([1, 4]))
    assert total.item() == pytest.approx(plain.item())


@pytest.mark.parametrize("labels", [[1, 5], [-1, 0], [1 << 40, 1]])
@pytest.mark.parametrize("native", [False, True])
def test_labels_that_no_row_of_weights_has_are_refused_before_memory_is_touched(
    labels: list[int], native: bool
) -> None:
    if native:
        require(LOSS)
    with pytest.raises(RuntimeError):
        linear_cross_entropy(torch.randn(2, 3), torch.randn(5, 3), None, labels=torch.tensor(labels), native=native)


def test_extreme_logits_do_not_overflow() -> None:
    features = torch.tensor([[1e4]], requires_grad=True)
    total, _ = linear_cross_entropy(features, torch.tensor([[1.0], [-1.0]]), None, labels=torch.tensor([1]))
    total.backward()
    assert total.item() == pytest.approx(2e4)
    assert features.grad.item() == pytest.approx(2.0)


def test_it_trains_in_bfloat16_with_sums_in_float32() -> None:
    torch.manual_seed(1)
    features, weight = torch.randn(64, 8), torch.randn(20, 8)
    labels = torch.arange(64) % 20
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        own = weight.clone().requires_grad_()
        with torch.autocast("cpu", dtype, enabled=dtype is torch.bfloat16):
            total, _ = linear_cross_entropy(features.to(dtype), own, None, labels=labels, smoothing=0.1)
        total.backward()
        assert total.dtype == own.grad.dtype == torch.float32
        results.append((total.detach(), own.grad))
    torch.testing.assert_close(results[1][0], results[0][0], rtol=0.01, atol=0.1)
    torch.testing.assert_close(results[1][1], results[0][1], rtol=0.1, atol=0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_improbable_labels_cost_the_same_where_the_device_is_not_asked_for_them(dtype: torch.dtype) -> None:
    logits = torch.tensor([[0.0, 120.0, 3.0], [200.0, 200.0, 0.0], [-150.0, 0.0, 0.0], [300.0, 0.0, 0.0]]).to(dtype)
    label = torch.tensor([[0], [2], [0], [1]])
    loss = _softmax_loss(logits, label, 0.0)
    expected = loss.nll
    assert expected.tolist() == pytest.approx([120.0, 200.7, 150.7, 300.0], abs=0.05)
    chances = logits.softmax(1).scatter(1, label, 0.0)
    torch.testing.assert_close(_rare_nll(logits, chances, loss.label_logits), expected, rtol=1e-3, atol=0.02)
