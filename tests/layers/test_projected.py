"""LSTMs with projections against torch's, all at once and one position at a time."""

import torch

from dragoman.layers.projected import ProjectedLstm


def layer(*, bidirectional: bool = False) -> ProjectedLstm:
    """A small layer with biases."""
    torch.manual_seed(1)
    made = ProjectedLstm(4, 7, 3, bidirectional=bidirectional)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made


def test_one_position_at_a_time_is_all_at_once() -> None:
    lstm, inputs = layer(), torch.randn(2, 5, 4)
    whole, last = lstm(inputs, lstm.start(inputs))
    left, right = lstm.input_maps(1)
    state = lstm.start(inputs)
    for position in range(5):
        entering = left(inputs[:, position, :1]) + right(inputs[:, position, 1:])
        output, state = lstm.step(entering, state)
        torch.testing.assert_close(output, whole[:, position])
        torch.testing.assert_close(lstm.query(state)[:, 0], output)
    torch.testing.assert_close(state, last)


def test_padding_is_never_seen_and_both_directions_are_added() -> None:
    lstm, inputs = layer(bidirectional=True), torch.randn(2, 5, 4)
    outputs = lstm.read(inputs, torch.tensor([5, 3]))
    assert outputs.shape == (2, 5, 3) and not outputs[1, 3:].any()
    alone = lstm.read(inputs[1:, :3], torch.tensor([3]))
    torch.testing.assert_close(outputs[1, :3], alone[0])
    rightward, leftward = one_direction(lstm, ""), one_direction(lstm, "_reverse")
    right, _ = rightward(inputs[1:, :3], rightward.start(inputs[1:]))
    left, _ = leftward(inputs[1:, :3].flip(1), leftward.start(inputs[1:]))
    torch.testing.assert_close(alone, right + left.flip(1))


def one_direction(lstm: ProjectedLstm, suffix: str) -> ProjectedLstm:
    """A layer with the weights of one of the directions."""
    one = layer()
    one.stack.load_state_dict({name: getattr(lstm.stack, name + suffix) for name, _ in one.stack.named_parameters()})
    return one
