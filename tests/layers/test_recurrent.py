"""Recurrent stacks. Their equations are tested in `tests/reference`."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from tests.native.compiled import require

from dragoman.layers.recurrent import BidirectionalStack, CellName, RecurrentStack
from dragoman.machine.compute_plan import ComputePlan, adopt
from dragoman.native.compilation import RECURRENCE

CELLS = pytest.mark.parametrize("cell", ["gru", "lstm"])


def zero_state(stack: RecurrentStack, like: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the state before the first position."""
    zeros = like.new_zeros(like.shape[0], stack.layers, stack.hidden)
    return (zeros,) if stack.cell == "gru" else (zeros, zeros)


def projected_inputs(stack: RecurrentStack, inputs: torch.Tensor) -> torch.Tensor:
    """Return the first layer's product with the whole input."""
    whole, _ = stack.input_maps(inputs.shape[-1])
    return whole(inputs)


@CELLS
@pytest.mark.parametrize("layers", [1, 3])
def test_a_state_has_one_row_per_sentence_and_one_part_per_layer(cell: CellName, layers: int) -> None:
    stack = RecurrentStack(cell, 3, 5, layers=layers, dropout=0.0)
    inputs = torch.randn(2, 4, 3)
    outputs, state = stack(inputs, zero_state(stack, inputs))
    assert outputs.shape == (2, 4, 5)
    assert [part.shape for part in state] == [(2, layers, 5)] * (1 if cell == "gru" else 2)
    torch.testing.assert_close(outputs[:, -1], state[0][:, -1])


@CELLS
def test_inputs_may_be_projected_in_parts(cell: CellName) -> None:
    stack = RecurrentStack(cell, 5, 4, layers=1, dropout=0.0)
    for parameter in stack.parameters():
        torch.nn.init.normal_(parameter)
    inputs = torch.randn(2, 3, 5)
    first, others = stack.input_maps(2)
    whole = projected_inputs(stack, inputs)
    torch.testing.assert_close(first(inputs[..., :2]) + others(inputs[..., 2:]), whole)


@CELLS
def test_steps_drop_between_layers_in_training(cell: CellName) -> None:
    torch.manual_seed(1)
    stack = RecurrentStack(cell, 3, 64, layers=2, dropout=0.5)
    inputs = torch.randn(1, 1, 3)
    projected, state = projected_inputs(stack, inputs)[:, 0], zero_state(stack, inputs)
    (one, first), (other, second) = stack.step(projected, state), stack.step(projected, state)
    assert torch.equal(first[0][:, 0], second[0][:, 0]), "the first layer comes before any dropout"
    assert not torch.equal(one, other)


@CELLS
def test_a_step_keeps_a_float32_state_where_products_are_in_bfloat16(cell: CellName) -> None:
    stack = RecurrentStack(cell, 3, 4, layers=2, dropout=0.0)
    inputs = torch.randn(2, 1, 3)
    with torch.autocast("cpu", torch.bfloat16):
        output, state = stack.step(projected_inputs(stack, inputs)[:, 0], zero_state(stack, inputs))
    assert output.isfinite().all() and state[0].isfinite().all()
    exact, _ = stack(inputs, zero_state(stack, inputs))
    torch.testing.assert_close(output.float(), exact[:, 0], rtol=0.05, atol=0.02)


@pytest.mark.parametrize("encoder", [False, True])
@pytest.mark.parametrize("supported", [False, True])
def test_an_lstm_in_bfloat16_needs_none_of_onednn(
    encoder: bool, supported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    inputs = torch.randn(2, 3, 5)
    stack: RecurrentStack | BidirectionalStack
    if encoder:
        stack = BidirectionalStack("lstm", 5, 4, layers=2, dropout=0.0, bidirectional=True)
        run = partial(stack, inputs, torch.tensor([3, 3]))
    else:
        stack = RecurrentStack("lstm", 5, 4, layers=2, dropout=0.0)
        run = partial(stack, inputs, zero_state(stack, inputs))
    exact, _ = run()
    if not supported:
        monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    elif not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        pytest.skip("this processor has no LSTM in bfloat16 to compare with")
    stack.stack.register_forward_pre_hook(lambda *_: asked.append(torch.backends.mkldnn.enabled))
    with torch.autocast("cpu", torch.bfloat16):
        outputs, _ = run()
    torch.testing.assert_close(outputs.float(), exact, rtol=0.05, atol=0.05)
    assert asked == [supported] and torch.backends.mkldnn.enabled


@CELLS
@pytest.mark.parametrize("bidirectional", [True, False])
def test_final_states_join_the_directions_of_each_layer(cell: CellName, bidirectional: bool) -> None:
    stack = BidirectionalStack(cell, 3, 4, layers=2, dropout=0.0, bidirectional=bidirectional)
    outputs, final = stack(torch.randn(3, 5, 3), torch.tensor([2, 5, 1]))
    size = 8 if bidirectional else 4
    assert outputs.shape == (3, 5, size)
    assert [part.shape for part in final] == [(3, 2, size)] * (1 if cell == "gru" else 2)
    for row, length in enumerate([2, 5, 1]):
        torch.testing.assert_close(final[0][row, 1, :4], outputs[row, length - 1, :4])
        assert not outputs[row, length:].any()


@CELLS
def test_recurrent_matrices_start_orthogonal_gate_by_gate(cell: CellName) -> None:
    stack = RecurrentStack(cell, 3, 6, layers=1, dropout=0.0)
    for gate in stack.stack.weight_hh_l0.split(6):
        torch.testing.assert_close(gate @ gate.T, torch.eye(6), rtol=0, atol=1e-5)
    assert not stack.stack.bias_ih_l0.any() and not stack.stack.bias_hh_l0.any()


def differ(run: Callable[[], tuple[torch.Tensor, object]]) -> bool:
    """Tell whether something drops: twice with different random states gives different outputs."""
    return not torch.equal(*(torch.manual_seed(seed) and run()[0] for seed in (1, 2)))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("bidirectional", [True, False])
@CELLS
def test_an_encoder_drops_between_its_layers_in_training_alone(
    cell: CellName, bidirectional: bool, native: bool
) -> None:
    for layers in (1, 2):
        stack = BidirectionalStack(cell, 3, 16, layers=layers, dropout=0.5, bidirectional=bidirectional)
        use(stack, native)
        inputs, lengths = torch.randn(2, 4, 3), torch.tensor([4, 3])
        assert differ(partial(stack, inputs, lengths)) == (layers > 1)
        assert not differ(partial(stack.eval(), inputs, lengths))


@pytest.mark.parametrize("native", [False, True])
@CELLS
def test_a_stack_drops_between_its_layers_in_training_alone(cell: CellName, native: bool) -> None:
    for layers in (1, 2):
        stack = RecurrentStack(cell, 3, 16, layers=layers, dropout=0.5)
        use(stack, native)
        inputs = torch.randn(2, 4, 3)
        state = zero_state(stack, inputs)
        assert differ(partial(stack, inputs, state)) == (layers > 1)
        assert not differ(partial(stack.eval(), inputs, state))


def use(stack: torch.nn.Module, native: bool) -> None:
    """Let a stack run in C++, where there is a compiler, or in torch."""
    if native:
        require(RECURRENCE)
    adopt(stack, ComputePlan(native=native))
