"""LSTMs whose output is a projection of their cells (Sak et al. 2014), over a sequence at once or one position at a time."""

from dataclasses import replace
from functools import partial

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.layers.linear import linear
from dragoman.layers.recurrent import InputMap, State, initialise, lstm_cell, without_onednn
from dragoman.machine.compute_plan import DEFAULT
from dragoman.machine.dtypes import upcast
from dragoman.native.recurrence import AttentionInputs, CellWeights, FusedRnnOutput, LayerWeights, run_fused


class ProjectedLstm(nn.Module):
    """One LSTM layer whose `cells` are projected to `width` outputs, which are also inputs of the next step's gates.

    Equations and weights are those of torch's nn.LSTM with `proj_size`. Source: Sak et al. 2014, section 2.1, without its
    peepholes and its second projection. `bidirectional`: a second LSTM reads backwards, and the two outputs are added. The
    state is the last output and the memory of the cells: (batch, width) and (batch, cells).
    """

    def __init__(self, inputs: int, cells: int, width: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.stack = nn.LSTM(inputs, cells, proj_size=width, batch_first=True, bidirectional=bidirectional)
        self.plan = DEFAULT
        initialise(self.stack)

    def start(self, like: Float[Tensor, "batch time _"]) -> State:
        """Return the initial state: zeros, with as many rows as `like`."""
        return like.new_zeros(len(like), self.stack.proj_size), like.new_zeros(len(like), self.stack.hidden_size)

    def forward(
        self, inputs: Float[Tensor, "batch time dim"], state: State
    ) -> tuple[Float[Tensor, "batch time width"], State]:
        """Run over a sequence from `state`; return the outputs and the state after it."""
        with without_onednn():
            outputs, last = self.stack(inputs, tuple(part[None] for part in state))
        return outputs, tuple(part[0] for part in last)

    def read(
        self, inputs: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time width"]:
        """Read padded sentences, skipping the padding; return the sum of the directions, zeros on padding."""
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        with without_onednn():
            outputs, _ = self.stack(packed)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
        return padded.unflatten(-1, (-1, self.stack.proj_size)).sum(-2)

    def can_fuse(self, inputs: Float[Tensor, "batch time _"]) -> bool:
        """Tell whether `run_fused` can run: the plan is native, and there is more than one position, on a CPU."""
        return self.plan.native and inputs.shape[1] > 1 and inputs.device.type == "cpu"

    def run_fused(
        self, inputs: Float[Tensor, "batch time part"], state: State, source: AttentionInputs | None = None
    ) -> FusedRnnOutput:
        """Run all positions as one operation; each attends to `source`, and the result is an input next to `inputs`.

        Equal to `step` at each position up to rounding. Sequences in the result are (batch, time, ...).
        """
        cell = CellWeights(*map(self._weight, CellWeights._fields))
        weights = LayerWeights((cell,), projection=self._weight("weight_hr"))
        output = run_fused(inputs.transpose(0, 1), tuple(part[None] for part in state), weights, source=source)
        return replace(output.batch_first(), last=tuple(part[0] for part in output.last))

    def query(self, state: State) -> Float[Tensor, "batch 1 width"]:
        """Return the last output, the attention query."""
        return state[0][:, None]

    def input_maps(self, size: int) -> tuple[InputMap, InputMap]:
        """Split the gates' input projection into that of the first `size` features and that of the others.

        Their sum is the whole projection without bias. Split once for all positions: each split adds work to the backward pass.
        """
        weight = self._weight("weight_ih")
        first, others = weight.split((size, weight.shape[1] - size), 1)
        return partial(F.linear, weight=first), partial(F.linear, weight=others)

    def step(self, projected: Float[Tensor, "batch gates"], state: State) -> tuple[Float[Tensor, "batch width"], State]:
        """Run one position, its input given as the sum of the projections from `input_maps`.

        The state is float32 even if products are computed in bfloat16, so that rounding errors do not accumulate over positions.
        """
        bias = self._weight("bias_ih") + self._weight("bias_hh")
        recurrent = upcast(linear(state[0], self._weight("weight_hh"), bias))
        cells, memory = lstm_cell(upcast(projected) + recurrent, upcast(state[1]))
        output = upcast(linear(cells, self._weight("weight_hr"), None))
        return output, (output, memory)

    def _weight(self, name: str) -> Tensor:
        """Return one of torch's parameters by its name without the layer suffix."""
        return self.stack.get_parameter(f"{name}_l0")
