"""Relative positions in self-attention: the position of the key minus that of the query.

| name        | what it does                                                        | source                           |
| ----------- | ------------------------------------------------------------------- | -------------------------------- |
| `shaw`      | adds a learned vector per distance, up to 16, to each key and value | Shaw et al. 2018, equations 3, 4 |
| `t5`        | adds a learned bias per head and bucket of distances to the score   | Raffel et al. 2020, section 2.1  |
| `t5_shared` | the same, with one set of biases for all layers                     | the same                         |
| `alibi`     | subtracts distance times a fixed slope per head from the score      | Press et al. 2022, section 3     |
| `rotary`    | rotates queries and keys by an angle proportional to their position | Su et al. 2021, section 3.2.2    |

Any score can be combined with any of them, and none limits the length of a sentence. All take positions as arguments, so a
target processed in chunks gets the same result as the whole.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.errors import SettingsError
from dragoman.machine.dtypes import upcast
from dragoman.plugins import get

REACH = 16
"""Shaw: all distances from here on share one vector; the paper's k for its base model (section 4.1)."""
BUCKETS = 32
"""T5: number of buckets of distances."""
FARTHEST = 128
"""T5: all distances from here on share one bias."""
BASE = 10000.0
"""Rotary: the slowest pair of features rotates by about one radian over this many positions."""


class Relative(nn.Module):
    """No relative positions; subclasses override one or more of the three methods."""

    @property
    def fusible(self) -> bool:
        """Whether a fused kernel, which exposes neither scores nor weights, gives the same result: nothing is added to either."""
        return type(self).bias is Relative.bias and type(self).values is Relative.values

    def rotate(
        self, states: Float[Tensor, "batch head time head_dim"], offset: int
    ) -> Float[Tensor, "batch head time head_dim"]:
        """Rotate projected queries or keys, the first of which is at position `offset`."""
        return states

    def bias(
        self, queries: Float[Tensor, "batch head query head_dim"], offset: int, keys: int
    ) -> Float[Tensor, "#batch head query {keys}"] | None:
        """Return what is added to the scores of `keys` keys at positions 0, 1, ..., or None."""
        return None

    def values(
        self, weights: Float[Tensor, "batch head query key"], offset: int
    ) -> Float[Tensor, "batch head query head_dim"] | None:
        """Return what is added to the context, or None."""
        return None


def distances(
    offset: int, queries: int, keys: int, *, device: torch.device | None = None
) -> Int[Tensor, "queries keys"]:
    """Return the position of each key (from 0 on) minus that of each query (from `offset` on).

    >>> distances(1, queries=2, keys=3).tolist()
    [[-1, 0, 1], [-2, -1, 0]]
    """
    return torch.arange(keys, device=device) - torch.arange(offset, offset + queries, device=device)[:, None]


class Shaw(Relative):
    """Learned vectors per distance: score q (k + a_K)^T / sqrt(d), average of v + a_V (Shaw et al. 2018, section 3).

    Distances are clipped to 16 on either side; causal attention has no vectors for later positions. Each layer has its own
    vectors, shared among its heads (section 3.3). Products are computed once per vector rather than per pair of positions. q
    a_K^T / sqrt(d) is added to whatever the score is; with the scaled dot product that is equation 4.
    """

    def __init__(self, head_dim: int, causal: bool) -> None:
        super().__init__()
        self.ahead = 0 if causal else REACH
        self.keys = nn.Parameter(torch.empty(REACH + 1 + self.ahead, head_dim))
        self.averaged = nn.Parameter(torch.empty(self.keys.shape))
        nn.init.xavier_uniform_(self.keys)
        nn.init.xavier_uniform_(self.averaged)

    def bias(
        self, queries: Float[Tensor, "batch head query head_dim"], offset: int, keys: int
    ) -> Float[Tensor, "batch head query {keys}"]:
        """Multiply each query by the key vector of each distance and divide by the square root of its size."""
        products = (queries / math.sqrt(queries.shape[-1])) @ self.keys.T
        index = self._index(offset, queries.shape[2], keys)
        return products.gather(-1, index.expand(*products.shape[:2], *index.shape))

    def values(
        self, weights: Float[Tensor, "batch head query key"], offset: int
    ) -> Float[Tensor, "batch head query head_dim"]:
        """Average the value vectors of the distances, after adding up the weights at equal distances."""
        index = self._index(offset, *weights.shape[2:])
        sums = weights.new_zeros(*weights.shape[:3], len(self.averaged))
        return sums.scatter_add(-1, index.expand_as(weights), weights) @ self.averaged

    def _index(self, offset: int, queries: int, keys: int) -> Int[Tensor, "queries keys"]:
        """Return the index of the vector for each pair of positions."""
        return distances(offset, queries, keys, device=self.keys.device).clamp(-REACH, self.ahead) + REACH


class T5(Relative):
    """A learned bias for each head and bucket of distances, added to the score (Raffel et al. 2020, section 2.1).

    All layers of a stack share one module if `relative` is t5_shared, as in T5; if it is t5, each has its own, as in umT5. The
    score is unchanged (T5 itself uses `dot`, which does not divide by the square root of the size).
    """

    def __init__(self, heads: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.table = nn.Parameter(torch.empty(BUCKETS, heads))
        nn.init.normal_(self.table, std=0.02)
        starts = bucket_starts(BUCKETS if causal else BUCKETS // 2, FARTHEST)
        self.register_buffer("starts", torch.tensor(starts[1:]), persistent=False)

    def bias(
        self, queries: Float[Tensor, "batch head query head_dim"], offset: int, keys: int
    ) -> Float[Tensor, "1 head query {keys}"]:
        """Look up the bias of each pair of positions."""
        return self.table[self.buckets(distances(offset, queries.shape[2], keys, device=self.table.device))].permute(
            2, 0, 1
        )[None]

    def buckets(self, distance: Int[Tensor, "queries keys"]) -> Int[Tensor, "queries keys"]:
        """Return the bucket of each distance; if the future is visible, it has the second half of the buckets."""
        past = distance.neg().clamp_min(0) if self.causal else distance.abs()
        bucket = torch.bucketize(past, self.get_buffer("starts"), right=True)
        return bucket if self.causal else bucket + (distance > 0) * (BUCKETS // 2)


def bucket_starts(buckets: int, farthest: int) -> list[int]:
    """Return the smallest distance in each bucket: half of them hold one distance each, the rest grow logarithmically.

    Bucket b of the rest holds the distances with floor(log(distance / exact) / log(farthest / exact) * (buckets - exact)) +
    exact = b, the last one also everything beyond. The bounds are computed with integers, so rounding cannot shift them.

    >>> bucket_starts(16, 128)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
    """
    exact = buckets // 2
    rest = buckets - exact

    def begins(step: int) -> int:
        return next(n for n in range(exact, farthest + 1) if n**rest * exact**step >= farthest**step * exact**rest)

    return [*range(exact), *(begins(step) for step in range(rest))]


class Alibi(Relative):
    """Subtract slope times distance from the score; nothing is learned (Press et al. 2022, section 3).

    The paper covers causal models only. Deviation: if both sides are visible, distance counts the same on both.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def bias(
        self, queries: Float[Tensor, "batch head query head_dim"], offset: int, keys: int
    ) -> Float[Tensor, "1 head query {keys}"]:
        """Multiply distances by the slope of each head."""
        steep = self.get_buffer("slopes")
        return -steep[None, :, None, None] * distances(offset, queries.shape[2], keys, device=steep.device).abs()


def slopes(heads: int) -> list[float]:
    """Return 2^(-8i/n) for heads i = 1 to n; if n is not a power of two, follow the authors' code.

    That code uses the slopes for the next lower power of two, and for the remaining heads every other slope for twice that
    power.

    >>> slopes(4), slopes(3)
    ([0.25, 0.0625, 0.015625, 0.00390625], [0.0625, 0.00390625, 0.25])
    """
    below = 1 << (heads.bit_length() - 1)
    even = [2 ** (-8 * (index + 1) / below) for index in range(below)]
    return even if heads == below else even + slopes(2 * below)[::2][: heads - below]


class Rotary(Relative):
    """Rotate each pair of features by position times 10000^(-2i/d) (Su et al. 2021, section 3.2.2, equations 14 to 16).

    Dot products of queries and keys then depend on content and distance only; so do cosines. The other scores see rotated
    vectors, hence positions, but not distances as such. Values are not rotated.
    """

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        if head_dim % 2:
            raise SettingsError(
                f"`model.relative: rotary` rotates pairs of features, but each head has an odd number of them, {head_dim}; "
                "choose model.width and model.heads so that width / heads is even"
            )
        # On the CPU, also where the model has no memory: for this, torch's meta device imports torch's compiler, for seconds.
        speeds = BASE ** (-torch.arange(0, head_dim, 2, device="cpu") / head_dim)
        self.register_buffer("speeds", speeds, persistent=False)

    def rotate(
        self, states: Float[Tensor, "batch head time head_dim"], offset: int
    ) -> Float[Tensor, "batch head time head_dim"]:
        """Rotate features 2i and 2i + 1 together, counterclockwise: as a complex number, in one product, which is quickest."""
        positions = torch.arange(offset, offset + states.shape[2], device=states.device)
        angles = positions[:, None] * self.get_buffer("speeds")
        pairs = torch.view_as_complex(upcast(states).unflatten(-1, (-1, 2)))
        turned = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(-2).to(states.dtype)


def build_relative(name: str, *, heads: int, head_dim: int, causal: bool) -> Relative:
    """Build the kind called `name` for one layer; `causal` says that no query sees later positions.

    Raises SettingsError if rotary is given heads of odd size.
    """
    match name:
        case "none":
            return Relative()
        case "shaw":
            return Shaw(head_dim, causal)
        case "t5" | "t5_shared":
            return T5(heads, causal)
        case "alibi":
            return Alibi(heads)
        case "rotary":
            return Rotary(head_dim)
        case _:
            plugin: Relative = get("relative", name).make(heads=heads, head_dim=head_dim, causal=causal)
            return plugin
