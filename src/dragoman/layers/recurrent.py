"""Recurrent stacks: GRU or LSTM, over a whole sequence at once or one position at a time with the same weights.

The state of a stack is a tuple of tensors (batch, layer, hidden): (h,) for a GRU, (h, c) for an LSTM.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.layers.dropout import Dropout
from dragoman.layers.linear import linear
from dragoman.machine.compute_plan import DEFAULT
from dragoman.machine.dtypes import matmul_dtype, upcast
from dragoman.native.recurrence import AttentionInputs, CellWeights, FusedRnnOutput, LayerWeights, run_fused

CellName = Literal["gru", "lstm"]
State = tuple[Float[Tensor, "batch ... _"], ...]
"""Hidden vectors and, for an LSTM, memories."""


InputMap = Callable[[Float[Tensor, "batch *time part"]], Float[Tensor, "batch *time gates"]]


class RecurrentStack(nn.Module):
    """Layers of GRU (Cho et al. 2014) or LSTM (Hochreiter and Schmidhuber 1997) cells, dropout between the layers.

    Equations, weights and biases are those of torch's nn.GRU and nn.LSTM; `forward` runs them over a sequence, `step` runs
    one position. Deviation of that GRU from Cho's: the reset gate multiplies W h + b rather than h.
    """

    def __init__(self, cell: CellName, inputs: int, hidden: int, *, layers: int, dropout: float) -> None:
        super().__init__()
        kind = nn.GRU if cell == "gru" else nn.LSTM
        self.cell = cell
        self.hidden = hidden
        self.layers = layers
        self.stack = kind(inputs, hidden, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
        self.dropout = Dropout(dropout)
        self.plan = DEFAULT
        initialise(self.stack)

    def forward(
        self, inputs: Float[Tensor, "batch time dim"], state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]:
        """Run over a sequence from `state`; return the last layer's outputs and the state after it."""
        if self.can_fuse(inputs):
            fused = self.run_fused(inputs, state)
            return fused.states, fused.last
        by_layer = tuple(part.transpose(0, 1).contiguous() for part in state)
        with _possible(self.stack, inputs):
            outputs, after = self.stack(inputs, by_layer[0] if self.cell == "gru" else by_layer)
        new = (after,) if self.cell == "gru" else after
        return outputs, tuple(part.transpose(0, 1) for part in new)

    def can_fuse(self, inputs: Float[Tensor, "batch time _"]) -> bool:
        """Tell whether `run_fused` can run: the plan is native, and there is more than one position, on a CPU."""
        return self.plan.native and inputs.shape[1] > 1 and inputs.device.type == "cpu"

    def run_fused(
        self, inputs: Float[Tensor, "batch time part"], state: State, source: AttentionInputs | None = None
    ) -> FusedRnnOutput:
        """Run all positions as one operation; each attends to `source`, and the result is an input next to `inputs`.

        Equal to `step` at each position up to rounding. Sequences in the result are (batch, time, ...).
        """
        rows, time, _ = inputs.shape
        keep = self.dropout.keep((self.layers - 1, time, rows, self.hidden)) if self.layers > 1 else None
        weights = LayerWeights(tuple(_weights(self.stack, str(layer)) for layer in range(self.layers)), keep)
        first = tuple(part.transpose(0, 1) for part in state)
        return run_fused(inputs.transpose(0, 1), first, weights, source=source).batch_first()

    def query(self, state: State) -> Float[Tensor, "batch 1 hidden"]:
        """Return the last layer's hidden vector, the attention query."""
        return state[0][:, -1:]

    def input_maps(self, size: int) -> tuple[InputMap, InputMap]:
        """Split the first layer's input projection into that of the first `size` features and that of the others."""
        weights = _weights(self.stack, "0")

        def first(inputs: Tensor) -> Tensor:
            return linear(inputs, weights.weight_ih[:, :size], weights.bias_ih)

        def others(inputs: Tensor) -> Tensor:
            return linear(inputs, weights.weight_ih[:, size:], None)

        return first, others

    def step(
        self, projected: Float[Tensor, "batch gates"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """Run one position, its input given as the sum of the projections from `input_maps`.

        The state is float32 even if products are computed in bfloat16, so that rounding errors do not accumulate over positions.
        """
        new: list[tuple[Tensor, ...]] = []
        output = projected
        for layer in range(self.layers):
            weights = _weights(self.stack, str(layer))
            entering = projected if layer == 0 else linear(self.dropout(output), weights.weight_ih, weights.bias_ih)
            hidden = state[0][:, layer]
            recurrent = upcast(linear(hidden, weights.weight_hh, weights.bias_hh))
            if self.cell == "gru":
                output = _gru(upcast(entering), recurrent, upcast(hidden))
                new.append((output,))
            else:
                kept = upcast(state[1][:, layer])
                output, memory = lstm_cell(upcast(entering) + recurrent, kept)
                new.append((output, memory))
        return output, tuple(torch.stack(parts, 1) for parts in zip(*new, strict=True))


class BidirectionalStack(nn.Module):
    """A stack that reads padded sentences, in one direction or both, and skips the padding.

    `hidden` is the size of each direction; outputs of the two are concatenated.
    """

    def __init__(
        self, cell: CellName, inputs: int, hidden: int, *, layers: int, dropout: float, bidirectional: bool
    ) -> None:
        super().__init__()
        kind = nn.GRU if cell == "gru" else nn.LSTM
        between = dropout if layers > 1 else 0.0
        self.layers = layers
        self.stack = kind(inputs, hidden, layers, batch_first=True, dropout=between, bidirectional=bidirectional)
        self.dropout = Dropout(between)
        self.plan = DEFAULT
        initialise(self.stack)

    def forward(
        self, inputs: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch time both"], State]:
        """Return the last layer's outputs (zeros on padding) and each layer's final states, both directions concatenated."""
        if self.plan.native and inputs.shape[1] > 1 and inputs.device.type == "cpu":
            return self._run_fused(inputs, lengths)
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        with _possible(self.stack, inputs):
            outputs, after = self.stack(packed)
        padded, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
        parts = after if isinstance(after, tuple) else (after,)
        return padded, tuple(self._join(part) for part in parts)

    def _run_fused(
        self, inputs: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch time both"], State]:
        """Run all layers as one operation or, if bidirectional, each layer and direction as one.

        Padding is processed too, but leaves the states unchanged.
        """
        rows, time, _ = inputs.shape
        alive = torch.arange(time, device=inputs.device)[:, None] < lengths
        weights = [_weights(self.stack, str(layer)) for layer in range(self.layers)]
        parts, sequence = 2 if isinstance(self.stack, nn.LSTM) else 1, inputs.transpose(0, 1)
        if not self.stack.bidirectional:
            zeros = tuple(inputs.new_zeros(self.layers, rows, self.stack.hidden_size) for _ in range(parts))
            keep = self.dropout.keep((self.layers - 1, time, rows, self.stack.hidden_size)) if self.layers > 1 else None
            fused = run_fused(sequence, zeros, LayerWeights(tuple(weights), keep), alive=alive).batch_first()
            return fused.states, fused.last
        last: list[tuple[Tensor, ...]] = []
        zeros = tuple(inputs.new_zeros(1, rows, self.stack.hidden_size) for _ in range(parts))
        for layer, forward in enumerate(weights):
            backward = _weights(self.stack, f"{layer}_reverse")
            entering = self.dropout(sequence) if layer else sequence
            both = [
                run_fused(entering, zeros, LayerWeights((weight,)), alive=alive, reverse=weight is backward)
                for weight in (forward, backward)
            ]
            sequence = torch.cat([direction.states for direction in both], -1)
            last += [direction.last for direction in both]
        return sequence.transpose(0, 1), tuple(self._join(torch.cat(part)) for part in zip(*last, strict=True))

    def _join(self, part: Float[Tensor, "both batch hidden"]) -> Float[Tensor, "batch layer joined"]:
        """Concatenate the directions of a layer."""
        return part.unflatten(0, (self.layers, -1)).permute(2, 0, 1, 3).flatten(2)


def _possible(stack: nn.GRU | nn.LSTM, inputs: Tensor) -> AbstractContextManager[None]:
    """Return the context in which torch can run a stack over a sequence.

    oneDNN, which torch asks for an LSTM on a CPU, raises RuntimeError in bfloat16 where the processor lacks AVX-512.
    """
    rounded = inputs.device.type == "cpu" and matmul_dtype(inputs) == torch.bfloat16
    missing = rounded and isinstance(stack, nn.LSTM) and not torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return without_onednn() if missing else nullcontext()


def without_onednn() -> AbstractContextManager[None]:
    """Keep torch from asking oneDNN for a layer that it lacks; torch's own loop computes the same."""
    flags: AbstractContextManager[None] = torch.backends.mkldnn.flags(
        enabled=False, deterministic=None, allow_tf32=None
    )
    return flags


def zero_state(like: Float[Tensor, "batch time dim"], layers: int, *sizes: int) -> State:
    """Return a state of zeros with one part (batch, layer, size) for each of `sizes`."""
    return tuple(like.new_zeros(like.shape[0], layers, size) for size in sizes)


def layer_state(state: State, layer: int) -> State:
    """Return the state of one layer."""
    return tuple(part[:, layer : layer + 1] for part in state)


def join_layers(states: Sequence[State]) -> State:
    """Concatenate the layers of several states into one state."""
    return tuple(torch.cat(parts, 1) for parts in zip(*states, strict=True))


def _weights(stack: nn.GRU | nn.LSTM, layer: str) -> CellWeights:
    """Return the weights of a layer; `1_reverse` is the second layer's other direction."""
    return CellWeights(*(getattr(stack, f"{name}_l{layer}") for name in CellWeights._fields))


def initialise(stack: nn.GRU | nn.LSTM) -> None:
    """Initialise recurrent matrices orthogonally and input matrices with Xavier, gate by gate; biases are zero.

    Deviation from Bahdanau et al. 2015, appendix B.1, where input matrices are drawn from N(0, 0.01^2).
    """
    for name, parameter in stack.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
        else:
            fill = nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_
            for gate in parameter.data.split(stack.hidden_size):
                fill(gate)


def _gru(
    entering: Float[Tensor, "batch gates"],
    recurrent: Float[Tensor, "batch gates"],
    hidden: Float[Tensor, "batch hidden"],
) -> Float[Tensor, "batch hidden"]:
    """Apply r, z = sigmoid; n = tanh(x + r h); h' = n + z (h - n)."""
    size = hidden.shape[1]
    gates = torch.sigmoid(entering[:, : 2 * size] + recurrent[:, : 2 * size])
    reset, update = gates.chunk(2, 1)
    candidate = torch.tanh(entering[:, 2 * size :] + reset * recurrent[:, 2 * size :])
    return torch.lerp(candidate.to(hidden.dtype), hidden, update.to(hidden.dtype))


def lstm_cell(
    gates: Float[Tensor, "batch gates"], memory: Float[Tensor, "batch hidden"]
) -> tuple[Float[Tensor, "batch hidden"], Float[Tensor, "batch hidden"]]:
    """Apply i, f, o = sigmoid, g = tanh; c' = f c + i g; h' = o tanh(c')."""
    enter, forget, candidate, leave = gates.chunk(4, 1)
    kept = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(candidate)
    return torch.sigmoid(leave) * torch.tanh(kept), kept
