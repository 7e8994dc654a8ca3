"""PackedWeights of few rows and the likeliest tokens in C++ equal what torch finds."""

import re

import pytest
import torch
from tests.native.compiled import require
from torch import Tensor
from torch.nn import functional

from dragoman.layers import linear
from dragoman.layers.linear import FEW, PackedWeights
from dragoman.machine.precision import InferencePrecisionName
from dragoman.native.compilation import DECODING, LOSS, RECURRENCE, Part
from dragoman.native.decoding import PANEL, in_panels, likeliest, multiplier


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    require(DECODING)


def multiply(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute W x + b in C++."""
    return multiplier(in_panels(weight), len(weight))(inputs, bias)


def numbers(*shape: int) -> Tensor:
    """Return random numbers, the same for the same shape."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7, 8, 9, 33])
@pytest.mark.parametrize("outputs", [1, PANEL - 1, PANEL, PANEL + 1, 200])
@pytest.mark.parametrize("inputs", [1, 5, 96])
def test_any_size_is_torchs_within_rounding(rows: int, outputs: int, inputs: int) -> None:
    x, weight, bias = numbers(rows, inputs), numbers(outputs, inputs), numbers(outputs)
    torch.testing.assert_close(multiply(x, weight, bias), functional.linear(x, weight, bias), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(multiply(x, weight), functional.linear(x, weight), atol=1e-5, rtol=1e-5)


def test_what_is_laid_out_otherwise_in_memory_is_read_as_it_is() -> None:
    x, weight, bias = numbers(4, 6, 3).transpose(0, 2), numbers(40, 8)[:, ::2], numbers(40, 2)[:, 1]
    assert not any(tensor.is_contiguous() for tensor in (x, weight, bias))
    found = multiply(x, weight, bias)
    assert found.shape == (3, 6, 40)
    torch.testing.assert_close(found, functional.linear(x, weight, bias))


def test_bfloat16_rounds_inputs_weights_and_products() -> None:
    x, weight, bias = numbers(7, 96), numbers(200, 96), numbers(200)
    exact = x.bfloat16().double() @ weight.bfloat16().double().T
    found = multiply(x, weight.bfloat16(), torch.zeros(200))
    assert torch.equal(found, found.bfloat16().float())
    torch.testing.assert_close(found.double(), exact, atol=1e-4, rtol=2**-8)
    assert (found == exact.float().bfloat16()).float().mean() > 0.99
    torch.testing.assert_close(multiply(x, weight.bfloat16(), bias), found + bias)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_what_is_no_number_stays_none(kind: torch.dtype) -> None:
    x = numbers(5, 16)
    x[0, 3], x[1, 3], x[2, 3] = torch.nan, torch.inf, -torch.inf
    x.view(torch.int32)[3, 3] = 0x7FFFFFFF
    found = multiply(x, torch.ones(40, 16, dtype=kind))
    assert found[0].isnan().all() and found[3].isnan().all() and found[4].isfinite().all()
    assert (found[1] == torch.inf).all() and (found[2] == -torch.inf).all()


def test_threads_change_nothing() -> None:
    x, weight = numbers(8, 512), numbers(1024, 512)
    many, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(multiply(x, weight))
    finally:
        torch.set_num_threads(many)
    assert torch.equal(*found)


@pytest.mark.parametrize(("precision", "error"), [("float32", 1e-5), ("bfloat16", 0.05)])
def test_more_rows_go_another_way_and_give_the_same(
    precision: InferencePrecisionName, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = torch.nn.Linear(96, 200)
    most = FEW[getattr(torch, precision)]
    inputs = numbers(most + 1, 96)
    calls = []
    monkeypatch.setattr(linear, "multiplier", lambda panels, outputs: calls.append(1) or multiplier(panels, outputs))
    with torch.inference_mode(), PackedWeights(precision, layer).used():
        many = layer(inputs)
        assert not calls
        few = layer(inputs[:most])
        assert calls
    torch.testing.assert_close(few, many[:most], atol=error, rtol=error)


def test_without_a_compiler_torchs_own_products_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "available", lambda part: False)
    layer, inputs = torch.nn.Linear(96, 200), numbers(3, 96)
    expected = layer(inputs)
    with torch.inference_mode(), PackedWeights("float32", layer).used():
        torch.testing.assert_close(layer(inputs), expected)


@pytest.mark.parametrize(
    ("rows", "vocabulary", "count"), [(1, 3, 3), (5, 64, 12), (7, 200, 12), (3, 8000, 4), (0, 9, 2)]
)
def test_the_likeliest_are_those_of_softmax_and_topk(rows: int, vocabulary: int, count: int) -> None:
    logits = 4 * numbers(rows, vocabulary) + 30
    log_probs, ids = likeliest(logits, count)
    values, places = logits.log_softmax(-1).topk(count)
    assert torch.equal(ids, places)
    torch.testing.assert_close(log_probs, values, atol=2e-5, rtol=1e-6)


def test_logits_far_from_0_lose_nothing() -> None:
    logits = (4 * numbers(6, 500)).double()
    expected = logits.float().log_softmax(-1).topk(9).values
    for offset in (4096.0, -4096.0):
        moved = (logits + offset).float()
        log_probs, _ = likeliest(moved, 9)
        torch.testing.assert_close(
            log_probs, moved.double().log_softmax(-1).topk(9).values.float(), atol=1e-5, rtol=1e-6
        )
        torch.testing.assert_close(log_probs, expected, atol=2e-3, rtol=0)


def test_equal_ones_come_in_their_order_and_forbidden_ones_last() -> None:
    logits = torch.zeros(3, 300)
    logits[1, :150] = -torch.inf
    logits[2] = -torch.inf
    logits[2, 7], logits[2, 5] = 1.0, 2.0
    log_probs, ids = likeliest(logits, 4)
    assert ids[0].tolist() == [0, 1, 2, 3] and ids[1].tolist() == [150, 151, 152, 153]
    torch.testing.assert_close(log_probs[:2, 0], -torch.tensor([300.0, 150.0]).log())
    assert ids[2, :2].tolist() == [5, 7] and (log_probs[2, 2:] == -torch.inf).all()
    assert len(set(ids[2].tolist())) == 4


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
def test_a_row_that_is_no_distribution_is_none(wrong: float) -> None:
    logits = numbers(4, 500)
    logits[1, 400], logits[2] = wrong, -torch.inf
    found, ids = likeliest(logits, 6)
    assert found[[1, 2]].isnan().all() and found[[0, 3]].isfinite().all()
    assert ((ids >= 0) & (ids < 500)).all()


def test_what_does_not_fit_is_refused() -> None:
    weight, x = numbers(40, 16), numbers(3, 16)
    refused = [
        ("only float32", x.double(), weight, None),
        ("only float32", x, weight, numbers(40).double()),
        ("do not fit the weight", numbers(3, 15), weight, None),
        ("bias does not fit", x, weight, numbers(39)),
        ("float32 or bfloat16", x, weight.double(), None),
        ("float32 or bfloat16", x, weight.half(), None),
    ]
    for reason, inputs, matrix, bias in refused:
        with pytest.raises(RuntimeError, match=reason):
            multiply(inputs, matrix, bias)
    with pytest.raises(RuntimeError, match="panels"):
        torch.ops.dragoman_decoding.multiply(x, weight, None, 40)
    for logits, count, reason in ((x, 17, "16 tokens, not 17"), (x, 0, "not 0"), (x.double(), 2, "only float32")):
        with pytest.raises(RuntimeError, match=reason):
            likeliest(logits, count)


@pytest.mark.parametrize("part", [RECURRENCE, LOSS, DECODING], ids=lambda part: part.name)
def test_all_that_is_included_belongs_to_the_fingerprint(part: Part) -> None:
    known = {source.name for source in part.sources}
    texts = {source.name: source.read_text(encoding="utf-8") for source in part.sources}
    included = {name for text in texts.values() for name in re.findall(r'#include "(.+)"', text)}
    assert included | {f"{part.name}.cpp"} == known
