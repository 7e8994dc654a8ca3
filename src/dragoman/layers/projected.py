"""LSTMs whose output is a projection of their cells (Sak et al. 2014), over a sequence at once or one position at a time."""

from contextlib import AbstractContextManager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.layers.linear import linear
from dragoman.layers.recurrent import initialise, lstm_cell
from dragoman.machine.dtypes import upcast

ProjectedState = tuple[Float[Tensor, "batch width"], Float[Tensor, "batch cells"]]
"""The last output, which is the state that enters the gates, and the memory of the cells."""


class ProjectedLstm(nn.Module):
    """One LSTM layer whose `cells` are projected to `width` outputs, which also enter the gates of the next step.

    Equations and weights are those of torch's nn.LSTM with `proj_size`. Source: Sak et al. 2014, section 2.1, without its
    peepholes and its second projection. `bidirectional`: a second one reads backwards, and the outputs of both are added.
    """

    def __init__(self, inputs: int, cells: int, width: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.stack = nn.LSTM(inputs, cells, proj_size=width, batch_first=True, bidirectional=bidirectional)
        initialise(self.stack)

    def start(self, like: Float[Tensor, "batch time _"]) -> ProjectedState:
        """Return zeros, the state before the first position, for as many rows as `like` has."""
        return like.new_zeros(len(like), self.stack.proj_size), like.new_zeros(len(like), self.stack.hidden_size)

    def forward(
        self, inputs: Float[Tensor, "batch time dim"], state: ProjectedState
    ) -> tuple[Float[Tensor, "batch time width"], ProjectedState]:
        """Run over a sequence from `state`; return the outputs and the state after it."""
        with _without_onednn():
            outputs, (last, memory) = self.stack(inputs, tuple(part[None] for part in state))
        return outputs, (last[0], memory[0])

    def read(
        self, inputs: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time width"]:
        """Read padded sentences from zeros and never see the padding; return the sum of the directions, zeros on padding."""
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        with _without_onednn():
            outputs, _ = self.stack(packed)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
        return padded.unflatten(-1, (-1, self.stack.proj_size)).sum(-2)

    def input_weights(self, *sizes: int) -> tuple[Float[Tensor, "gates _"], ...]:
        """Cut the gates' input matrix into one for each part of the input; cut it once, for each cut costs in the gradient."""
        return self._weight("weight_ih").split(sizes, 1)

    def step(self, projected: Float[Tensor, "batch gates"], state: ProjectedState) -> ProjectedState:
        """Run one position, its input given as the sum of the products of its parts with `input_weights`.

        The state is float32 even where products are done in bfloat16, so that rounding does not add up over positions.
        """
        bias = self._weight("bias_ih") + self._weight("bias_hh")
        recurrent = upcast(linear(state[0], self._weight("weight_hh"), bias))
        output, memory = lstm_cell(upcast(projected) + recurrent, upcast(state[1]))
        return upcast(linear(output, self._weight("weight_hr"), None)), memory

    def _weight(self, name: str) -> Tensor:
        """Return one of torch's parameters by the part of its name before the layer."""
        return self.stack.get_parameter(f"{name}_l0")


def _without_onednn() -> AbstractContextManager[None]:
    """Keep torch from asking oneDNN, which has no LSTM with projections: torch would warn of that, and then do the same."""
    flags: AbstractContextManager[None] = torch.backends.mkldnn.flags(
        enabled=False, deterministic=None, allow_tf32=None
    )
    return flags
