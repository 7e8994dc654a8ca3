"""A loop over a whole sequence as one operation is torch's loop. Models are compared in `tests/reference/test_native.py`."""

from collections.abc import Sequence
from typing import Literal

import pytest
import torch
from tests.native.compiled import require
from torch import Tensor, nn

from dragoman.data.collate import collate
from dragoman.machine.compute_plan import ComputePlan, adopt
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Vocabularies
from dragoman.native import recurrence
from dragoman.native.compilation import LOSS, RECURRENCE
from dragoman.native.recurrence import (
    SMALL,
    AttentionInputs,
    CellWeights,
    FusedRnnOutput,
    LayerWeights,
    formulas,
    run_fused,
)
from dragoman.training.flops import counting
from dragoman.training.objectives import translation_loss

TIME, ROWS, INPUTS, HIDDEN = 5, 3, 4, 6
Cell = Literal["gru", "lstm"]


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    require(RECURRENCE)
    require(LOSS)


def loop(cell: Cell, *, layers: int = 1, projection: int = 0) -> nn.GRU | nn.LSTM:
    """Return torch's loop, in double precision."""
    torch.manual_seed(3)
    made = nn.GRU(INPUTS, HIDDEN, layers) if cell == "gru" else nn.LSTM(INPUTS, HIDDEN, layers, proj_size=projection)
    return made.double()


def weights_of(rnn: nn.GRU | nn.LSTM, layers: Sequence[int] | None = None) -> LayerWeights:
    """Return the weights of some layers of a loop, or of all."""
    chosen = range(rnn.num_layers) if layers is None else layers
    cells = (CellWeights(*(getattr(rnn, f"{name}_l{layer}") for name in CellWeights._fields)) for layer in chosen)
    return LayerWeights(tuple(cells), projection=getattr(rnn, "weight_hr_l0", None))


def begun(rnn: nn.GRU | nn.LSTM) -> tuple[Tensor, ...]:
    """Return a state to start from."""
    sizes = [rnn.proj_size or HIDDEN] + [HIDDEN] * isinstance(rnn, nn.LSTM)
    return tuple(torch.randn(rnn.num_layers, ROWS, size).double() for size in sizes)


def sentences(time: int = TIME) -> Tensor:
    """Return the inputs of a loop, time first."""
    return torch.randn(time, ROWS, INPUTS, generator=torch.Generator().manual_seed(time)).double()


@pytest.mark.parametrize("used", ["states", "last"])
@pytest.mark.parametrize(
    ("cell", "layers", "projection"), [("gru", 1, 0), ("gru", 3, 0), ("lstm", 1, 0), ("lstm", 2, 0), ("lstm", 1, 2)]
)
def test_a_loop_and_its_gradients_are_torchs(cell: Cell, layers: int, projection: int, used: str) -> None:
    rnn = loop(cell, layers=layers, projection=projection)
    inputs, first = sentences().requires_grad_(), tuple(part.requires_grad_() for part in begun(rnn))
    outputs, after = rnn(inputs, first if cell == "lstm" else first[0])
    fused = run_fused(inputs, first, weights_of(rnn))
    expected, found = (outputs, *(after if cell == "lstm" else (after,))), (fused.states, *fused.last)
    torch.testing.assert_close(found, expected)
    leaves = [inputs, *first, *rnn.parameters()]
    gradients = [
        torch.autograd.grad(sum(one.square().sum() for one in (parts[:1] if used == "states" else parts[1:])), leaves)
        for parts in (found, expected)
    ]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_reversed_loop_reads_from_the_last_position_to_the_first(cell: Cell) -> None:
    rnn, inputs = loop(cell), sentences()
    first = begun(rnn)
    turned = run_fused(inputs.flip(0), first, weights_of(rnn))
    found = run_fused(inputs, first, weights_of(rnn), reverse=True)
    torch.testing.assert_close((found.states, found.last), (turned.states.flip(0), turned.last))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_where_a_row_has_ended_its_output_is_zero_and_its_state_stays(cell: Cell, reverse: bool) -> None:
    rnn, inputs, lengths = loop(cell), sentences(), torch.tensor([TIME, 2, 1])
    first, alive = begun(rnn), torch.arange(TIME)[:, None] < lengths
    found = run_fused(inputs, first, weights_of(rnn), alive=alive, reverse=reverse)
    assert (found.states[~alive] == 0).all()
    for row, length in enumerate(lengths.tolist()):
        own = tuple(part[:, row : row + 1].contiguous() for part in first)
        alone = run_fused(inputs[:length, row : row + 1], own, weights_of(rnn), reverse=reverse)
        torch.testing.assert_close(found.states[:length, row : row + 1], alone.states)
        torch.testing.assert_close(tuple(part[:, row : row + 1] for part in found.last), alone.last)


def test_what_enters_a_higher_layer_is_multiplied_by_its_dropout_factors() -> None:
    rnn, inputs = loop("gru", layers=2), sentences()
    (first,) = begun(rnn)
    keep = 2 * torch.bernoulli(torch.full((1, TIME, ROWS, HIDDEN), 0.5)).double()
    both = run_fused(inputs, (first,), LayerWeights(weights_of(rnn).weights, keep))
    lower = run_fused(inputs, (first[:1],), weights_of(rnn, [0]))
    upper = run_fused(lower.states * keep[0], (first[1:],), weights_of(rnn, [1]))
    torch.testing.assert_close(both.states, upper.states)
    torch.testing.assert_close(both.last[0], torch.cat([lower.last[0], upper.last[0]]))


def test_each_position_attends_with_the_state_before_it_to_what_is_real() -> None:
    torch.manual_seed(5)
    real = torch.arange(7) < torch.tensor([7, 3, 1])[:, None]
    keys, values = torch.randn(ROWS, 7, HIDDEN).double(), torch.randn(ROWS, 7, INPUTS).double()
    rnn = nn.GRU(2 * INPUTS, HIDDEN).double()
    inputs, (first,) = sentences(), begun(rnn)
    found = run_fused(inputs, (first,), weights_of(rnn), source=AttentionInputs(keys, values, real, scale=0.5))
    queries = torch.cat([first, found.states[:-1]])
    scores = 0.5 * torch.einsum("tbd,bsd->tbs", queries, keys)
    expected = scores.masked_fill(~real, -torch.inf).softmax(-1)
    torch.testing.assert_close(found.weights, expected)
    torch.testing.assert_close(found.contexts, torch.einsum("tbs,bsd->tbd", expected, values))
    entering = torch.cat([inputs, found.contexts], -1)
    torch.testing.assert_close(found.states, rnn(entering, first)[0])


@pytest.mark.parametrize(("rows", "hidden"), [(SMALL, SMALL), (SMALL - 1, SMALL), (SMALL, SMALL - 1)])
def test_under_autocast_only_large_products_are_in_bfloat16(rows: int, hidden: int) -> None:
    torch.manual_seed(2)
    rnn = nn.GRU(INPUTS, hidden)
    inputs, first = torch.randn(3, rows, INPUTS), torch.zeros(1, rows, hidden)
    exact = run_fused(inputs, (first,), weights_of(rnn)).states
    with torch.autocast("cpu", torch.bfloat16):
        found = run_fused(inputs, (first,), weights_of(rnn)).states
    assert found.dtype == torch.float32
    assert torch.equal(found, exact) == (min(rows, hidden) < SMALL)
    torch.testing.assert_close(found, exact, rtol=0.02, atol=0.02)


def test_the_batch_comes_first_where_it_is_asked_for_and_what_is_unused_stays_empty() -> None:
    rnn = loop("lstm")
    found = run_fused(sentences(), begun(rnn), weights_of(rnn))
    turned = found.batch_first()
    assert isinstance(turned, FusedRnnOutput)
    assert torch.equal(turned.states, found.states.transpose(0, 1))
    assert [part.shape for part in turned.last] == [(ROWS, 1, HIDDEN)] * 2
    assert turned.contexts.numel() == turned.weights.numel() == turned.fed.numel() == 0


def test_operations_are_counted_only_where_the_library_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    library = torch.ops.dragoman_native
    assert formulas().keys() == {library.forward, library.backward}
    monkeypatch.setattr(recurrence, "loaded", lambda part: False)
    assert formulas() == {}


@pytest.mark.parametrize("decoder", ["bahdanau", "luong"])
@pytest.mark.parametrize("score", ["additive", "dot"])
def test_a_native_loop_counts_as_many_operations_as_a_plain_one(decoder: str, score: str) -> None:
    settings = RecurrentSettings(
        decoder=decoder,
        score=score,
        embedding=16,
        hidden=16,
        encoder_hidden=8,
        input_feeding=decoder == "luong",
        dropout=0.0,
    )
    model = build_rnn(settings, Vocabularies(20, 20))
    batch = collate([([5, 6, 7, 8, 9, 4], [6, 5, 7, 4]), ([5, 4, 5, 5, 5, 5], [7, 7, 6, 5])])
    counts = []
    for native in (False, True):
        adopt(model, ComputePlan(native=native, native_loss=native))
        with counting() as count:
            translation_loss(model, batch).total.backward()
        counts.append(count.flops)
    assert counts[1] == pytest.approx(counts[0], rel=0.08)
