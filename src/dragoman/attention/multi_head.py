"""Attention with several heads (Vaswani et al. 2017, section 3.2.2) and any score."""

import math
from dataclasses import dataclass

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.attention.attend import attend_scaled_dot
from dragoman.attention.lookup import Lookup, LookupOptions
from dragoman.attention.packed import attend_packed, can_pack
from dragoman.attention.relative import Relative
from dragoman.attention.scores import Multiplying, ScaledDot, build_score, match
from dragoman.attention.sharing import attend_shared
from dragoman.errors import SettingsError
from dragoman.interfaces import Attended, KeyValues
from dragoman.machine.compute_plan import DEFAULT


@dataclass(frozen=True)
class ProjectionOptions:
    """How states are projected to the heads, and the heads back to states."""

    head_size: int | None = None
    """Size of queries, keys and values in each head; by default width / heads."""
    biases: bool = True


class MultiHead(nn.Module):
    """`heads` projections in parallel, each attending on its own, concatenated and projected by W_O.

    Both self-attention and attention over the source are this module; self-attention may use relative positions
    (`relative`). With a score that is a product, and no request for weights, a fused kernel is used; a law checks that it
    gives the same result. Heads share the parameters of a score, since the projections before it already differ. Projections have
    biases, as in the reference implementation, unless `projections` says otherwise.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        score: str = "scaled_dot",
        kind: LookupOptions | None = None,
        relative: Relative | None = None,
        projections: ProjectionOptions | None = None,
        positions: int = 512,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        options = projections or ProjectionOptions()
        if width % heads and options.head_size is None:
            raise SettingsError(
                f"model.width {width} does not divide into {heads} heads; choose a multiple of model.heads, or set "
                "model.head_size"
            )
        self.heads = heads
        head_dim = options.head_size or width // heads
        self.score = build_score(score, head_dim, head_dim, hidden=head_dim, positions=positions)
        self.lookup = Lookup(head_dim, kind or LookupOptions(), dropout=dropout)
        self.relative = relative or Relative()
        self.plan = DEFAULT
        self.query = nn.Linear(width, heads * head_dim, bias=options.biases)
        self.key_value = nn.Linear(width, 2 * heads * head_dim, bias=options.biases)
        self.output = nn.Linear(heads * head_dim, width, bias=options.biases)
        for half in self.key_value.weight.chunk(2):
            nn.init.xavier_uniform_(half.data)
        for projection in (self.query, self.output):
            nn.init.xavier_uniform_(projection.weight)
        for projection in (self.query, self.key_value, self.output) if options.biases else ():
            nn.init.zeros_(projection.bias)

    def prepare(
        self, keys: Float[Tensor, "batch key width"], values: Float[Tensor, "batch key width"], *, offset: int = 0
    ) -> KeyValues:
        """Project keys and values for each head, in one matrix product if they are the same tensor."""
        if keys is values:
            projected_keys, projected_values = self.key_value(keys).chunk(2, -1)
        else:
            key_weight, value_weight = self.key_value.weight.chunk(2)
            bias = self.key_value.bias
            key_bias, value_bias = (None, None) if bias is None else bias.chunk(2)
            projected_keys = F.linear(keys, key_weight, key_bias)
            projected_values = F.linear(values, value_weight, value_bias)
        placed = self.relative.rotate(self._split(projected_keys), offset)
        return KeyValues(self.score.prepare(placed), self._split(projected_values))

    def forward(
        self,
        queries: Float[Tensor, "batch query width"],
        memory: KeyValues,
        mask: Bool[Tensor, "#sentence #query key"] | None = None,
        *,
        offset: int = 0,
        need_weights: bool = False,
        causal: bool = False,
    ) -> Attended:
        """Average the values in `memory` for each query and head; `offset` is the position of the first query.

        `causal` says that `mask` is the causal one, which fused GPU kernels support without a mask. Relative positions,
        which need self-attention, are not available if `queries` has more rows than `memory`.
        """

        every_head = None if mask is None else mask[:, None]
        product = type(self.score).forward is Multiplying.forward
        fused = product and self.lookup.plain and self.relative.fusible and not need_weights

        def attend(queries: Tensor, copies: int) -> Attended:
            split = self.relative.rotate(self._split(self.query(queries)), offset)
            if fused:
                context = self._fused(split, memory, every_head, causal=causal and offset == 0)
                return Attended(self._joined(context), None)
            scores = match(self.score, split, memory.keys, count=memory.values.shape[-2])
            bias = self.relative.bias(split, offset, memory.keys.shape[2])
            biased = scores if bias is None else scores + bias
            found = self.lookup(split, biased, memory, mask=every_head, offset=offset, copies=copies)
            from_distances = self.relative.values(found.weights, offset)
            context = found.context if from_distances is None else found.context + from_distances
            return Attended(self._joined(context), found.weights if need_weights else None, found.choice)

        return attend_shared(attend, queries, memory)

    def _fused(
        self,
        queries: Float[Tensor, "batch head query head_dim"],
        memory: KeyValues,
        mask: Bool[Tensor, "#batch 1 #query key"] | None,
        *,
        causal: bool,
    ) -> Float[Tensor, "batch head query head_dim"]:
        """Attend in one kernel: packed, without padding, where plan and kernel allow it, otherwise with the mask."""
        if type(self.score) is not ScaledDot:
            queries = self.score.project(queries)
            queries = queries * math.sqrt(queries.shape[-1])  # by which the kernel divides
        dropout = self.lookup.dropout if self.training else 0.0
        if self.plan.packed and mask is not None and not dropout and can_pack(queries, memory.values, mask):
            return attend_packed(queries, memory.keys, memory.values, real=mask[:, 0, 0])
        return attend_scaled_dot(queries, memory.keys, memory.values, mask=mask, dropout=dropout, causal=causal)

    def _split(self, states: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch head time head_dim"]:
        """Split features into heads."""
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _joined(self, context: Float[Tensor, "batch head time head_dim"]) -> Float[Tensor, "batch time width"]:
        """Concatenate the heads and project them."""
        return self.output(context.transpose(1, 2).flatten(2))
