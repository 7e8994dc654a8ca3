"""How well each query matches each key: the only difference between the classic kinds of attention.

| name             | score of query s and key h        | source                                    |
| ---------------- | --------------------------------- | ----------------------------------------- |
| `additive`       | v^T tanh(W_q s + W_k h)           | Bahdanau et al. 2015, appendix A.1.2      |
| `dot`            | s^T h                             | Luong et al. 2015, section 3.1            |
| `scaled_dot`     | s^T h / sqrt(d)                   | Vaswani et al. 2017, equation 1           |
| `general`        | s^T W h                           | Luong et al. 2015, section 3.1            |
| `scaled_general` | s^T W h / sqrt(d)                 | Luong et al. 2015, scaled as `scaled_dot` |
| `concat`         | v^T tanh(W [s; h])                | Luong et al. 2015, section 3.1            |
| `product`        | v^T (tanh(W_q s) * tanh(W_k h))   | Shazeer et al. 2017, appendix G           |
| `cosine`         | beta cos(s, h), beta > 0 learned  | Graves et al. 2014, equations 5 and 6     |
| `location`       | (W s)_i for the key at position i | Luong et al. 2015, section 3.1            |
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.errors import InputError, SettingsError
from dragoman.plugins import get, or_plugin

ScoreName = Literal[
    "additive", "dot", "scaled_dot", "general", "scaled_general", "concat", "product", "cosine", "location"
]
CONTENT_BASED: tuple[ScoreName, ...] = tuple(name for name in get_args(ScoreName) if name != "location")
"""Scores that ignore the positions of the keys."""
BILINEAR: tuple[ScoreName, ...] = ("scaled_dot", "dot", "general", "scaled_general")
"""Scores that a matrix over the queries turns into one another, so that whatever knows one of them can express all."""
PRODUCTS: tuple[ScoreName, ...] = (*BILINEAR, "product", "cosine")
"""Scores that are a product of projected queries and prepared keys, as fused kernels compute it."""
ScoreChoice = Annotated[ScoreName, *or_plugin("score")]
"""A setting: a built-in score, or one from a plugin."""


@dataclass(frozen=True)
class ScoreParts:
    """A score as scale * f(W q)^T k of prepared keys (W is the identity without `query`), or as v^T tanh(W q + k)."""

    query: Tensor | None = None
    energy: Tensor | None = None
    """v; if None, the score is a product."""
    squashed: bool = False
    """Whether f is tanh; otherwise it is the identity."""
    scale: float = 1.0


class Score(nn.Module, ABC):
    """How well each query matches each key."""

    formula = ""
    """The score of query s and key h, as people write it; a score from a plugin may leave it out."""

    def __init_subclass__(cls) -> None:
        """Inherit no formula, parts or, with another `forward`, terms: a class that extends another may compute another score."""
        super().__init_subclass__()
        own = vars(cls).keys()
        stale = {"formula", "parts", "terms"} if "forward" in own else {"formula", "parts"}
        for name in stale - own:
            setattr(cls, name, getattr(Score, name))

    def parts(self, query_dim: int) -> ScoreParts | None:
        """Return the parts of this score that a fused kernel needs, or None if it does not have that form."""
        return None

    def prepare(self, keys: Float[Tensor, "*batch key key_dim"]) -> Float[Tensor, "*batch key prepared"]:
        """Do the work that depends only on the keys, once per source sentence."""
        return keys

    @abstractmethod
    def forward(
        self, queries: Float[Tensor, "*batch query query_dim"], keys: Float[Tensor, "*batch key prepared"]
    ) -> Float[Tensor, "*batch query key"]:
        """Score every query against every prepared key."""

    def project(self, queries: Float[Tensor, "*batch query query_dim"]) -> Float[Tensor, "*batch query _"]:
        """Return the queries as they meet the prepared keys; the queries themselves unless a score says otherwise."""
        return queries

    def terms(
        self, queries: Float[Tensor, "*batch query query_dim"], keys: Float[Tensor, "*batch key prepared"]
    ) -> Float[Tensor, "*batch query key feature"]:
        """Return what each feature adds to each score: their sum is the score. Unless a score says otherwise there is one."""
        return self(queries, keys)[..., None]


class Multiplying(Score):
    """A score that is the product of projected queries and prepared keys."""

    def forward(
        self, queries: Float[Tensor, "*batch query query_dim"], keys: Float[Tensor, "*batch key prepared"]
    ) -> Float[Tensor, "*batch query key"]:
        """Multiply projected queries and prepared keys."""
        return self.project(queries) @ keys.mT

    def terms(
        self, queries: Float[Tensor, "*batch query query_dim"], keys: Float[Tensor, "*batch key prepared"]
    ) -> Float[Tensor, "*batch query key feature"]:
        """Return the product of each feature."""
        return self.project(queries)[..., :, None, :] * keys[..., None, :, :]


class Dot(Multiplying):
    """s^T h (Luong et al. 2015). Queries and keys must have the same size."""

    formula = "sᵀ h"

    def parts(self, query_dim: int) -> ScoreParts:
        """Return the default parts: queries and keys are multiplied as they are."""
        return ScoreParts()


class ScaledDot(Multiplying):
    """s^T h / sqrt(d) (Vaswani et al. 2017, equation 1). Queries and keys must have the same size."""

    formula = "sᵀ h / √d"

    def parts(self, query_dim: int) -> ScoreParts:
        """Return the scale."""
        return ScoreParts(scale=1 / math.sqrt(query_dim))

    def project(self, queries: Float[Tensor, "*batch query query_dim"]) -> Float[Tensor, "*batch query _"]:
        """Divide queries by the square root of their size."""
        return queries / math.sqrt(queries.shape[-1])


class General(Multiplying):
    """s^T W h (Luong et al. 2015). W h is computed once per source."""

    formula = "sᵀ W h"

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        self.key = nn.Linear(key_dim, query_dim, bias=False)

    def parts(self, query_dim: int) -> ScoreParts:
        """Return the default parts: W is in the prepared keys."""
        return ScoreParts()

    def prepare(self, keys: Float[Tensor, "*batch key key_dim"]) -> Float[Tensor, "*batch key prepared"]:
        """Multiply the keys by W."""
        return self.key(keys)


class ScaledGeneral(General):
    """s^T W h / sqrt(d), d the size of queries: Luong's `general` with the scale of Vaswani et al. 2017, equation 1.

    Scores and what a step of Adam changes in them are sqrt(d) times smaller, so that their softmax does not saturate before it
    has learned where to look. After a long training `general` can be better (docs/quality.md).
    """

    formula = "sᵀ W h / √d"

    def parts(self, query_dim: int) -> ScoreParts:
        """Return the scale: W is in the prepared keys."""
        return ScoreParts(scale=1 / math.sqrt(query_dim))

    def project(self, queries: Float[Tensor, "*batch query query_dim"]) -> Float[Tensor, "*batch query _"]:
        """Divide queries by the square root of their size."""
        return queries / math.sqrt(queries.shape[-1])


class Additive(Score):
    """v^T tanh(W_q s + W_k h), no biases (Bahdanau et al. 2015, appendix A.1.2). W_k h is computed once per source.

    The tanh is applied to the sum; d2l's code applies it to each projection, which is an erratum (see docs/errata.md).
    """

    formula = "vᵀ tanh(W_q s + W_k h)"

    def __init__(self, query_dim: int, key_dim: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_dim, hidden, bias=False)
        self.key = nn.Linear(key_dim, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def parts(self, query_dim: int) -> ScoreParts:
        """Return W_q and v."""
        return ScoreParts(self.query.weight, self.energy.weight[0])

    def prepare(self, keys: Float[Tensor, "*batch key key_dim"]) -> Float[Tensor, "*batch key prepared"]:
        """Multiply the keys by W_k."""
        return self.key(keys)

    def forward(
        self, queries: Float[Tensor, "*batch query query_dim"], keys: Float[Tensor, "*batch key hidden"]
    ) -> Float[Tensor, "*batch query key"]:
        """Add each projected query to each prepared key, apply tanh, and take the weighted sum of the features."""
        return self.energy(self._hidden(queries, keys)).squeeze(-1)

    def project(self, queries: Float[Tensor, "*batch query query_dim"]) -> Float[Tensor, "*batch query _"]:
        """Multiply queries by W_q."""
        return self.query(queries)

    def terms(
        self, queries: Float[Tensor, "*batch query query_dim"], keys: Float[Tensor, "*batch key hidden"]
    ) -> Float[Tensor, "*batch query key feature"]:
        """Return v times tanh, for each feature."""
        return self.energy.weight[0] * self._hidden(queries, keys)

    def _hidden(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Add each projected query to each prepared key, and apply tanh."""
        return torch.tanh(self.project(queries)[..., :, None, :] + keys[..., None, :, :])


class Concat(Additive):
    """v^T tanh(W [s; h]) (Luong et al. 2015, section 3.1).

    W [s; h] equals W_q s + W_k h with W split in two, so this is `Additive` initialised as one matrix over query and key
    together.
    """

    formula = "vᵀ tanh(W [s; h])"
    parts = Additive.parts

    def __init__(self, query_dim: int, key_dim: int, hidden: int) -> None:
        super().__init__(query_dim, key_dim, hidden)
        bound = 1 / math.sqrt(query_dim + key_dim)
        for half in (self.query, self.key):
            nn.init.uniform_(half.weight, -bound, bound)


class Product(Multiplying):
    """sum_d v_d tanh(W_k h)_d tanh(W_q s)_d (Shazeer et al. 2017, appendix G): like additive, but one matrix product.

    The key side, including v, is computed once per source. v starts at 1 / sqrt(size) everywhere, so that scores start small
    and all features count equally; the paper does not say how it is initialised.
    """

    formula = "vᵀ (tanh(W_q s) ⊙ tanh(W_k h))"

    def __init__(self, query_dim: int, key_dim: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_dim, hidden, bias=False)
        self.key = nn.Linear(key_dim, hidden, bias=False)
        self.energy = nn.Parameter(torch.full((hidden,), hidden**-0.5))

    def parts(self, query_dim: int) -> ScoreParts:
        """Return W_q; v is in the prepared keys."""
        return ScoreParts(self.query.weight, squashed=True)

    def prepare(self, keys: Float[Tensor, "*batch key key_dim"]) -> Float[Tensor, "*batch key prepared"]:
        """Multiply the keys by W_k, apply tanh, and multiply by v."""
        return torch.tanh(self.key(keys)) * self.energy

    def project(self, queries: Float[Tensor, "*batch query query_dim"]) -> Float[Tensor, "*batch query _"]:
        """Multiply queries by W_q and apply tanh."""
        return torch.tanh(self.query(queries))


class Cosine(Multiplying):
    """beta cos(s, h), with one learned strength beta > 0 (Graves et al. 2014, equations 5 and 6; in a Transformer, the
    query-key normalisation of Henry et al. 2020).

    Deviations: beta is the softplus of a parameter rather than an output of the controller; it starts at 10 because cosines
    lie in [-1, 1], so a small beta gives nearly uniform weights. A query whose size differs from the keys' is projected to
    theirs.
    """

    formula = "β cos(s, h)"

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        self.query = nn.Identity() if query_dim == key_dim else nn.Linear(query_dim, key_dim, bias=False)
        self.raw_strength = nn.Parameter(torch.tensor(10.0))

    @property
    def strength(self) -> Float[Tensor, ""]:
        """Return beta."""
        return F.softplus(self.raw_strength)

    def prepare(self, keys: Float[Tensor, "*batch key dim"]) -> Float[Tensor, "*batch key dim"]:
        """Normalise the keys to length 1."""
        return F.normalize(keys, dim=-1)

    def project(self, queries: Float[Tensor, "*batch query query_dim"]) -> Float[Tensor, "*batch query _"]:
        """Scale the queries to length beta."""
        return self.strength * F.normalize(self.query(queries), dim=-1)


class Location(Score):
    """(W s)_i for the key at position i (Luong et al. 2015, section 3.1): the keys themselves are ignored.

    The rows of W limit the length of sources; a longer one raises InputError.
    """

    formula = "(W s)ᵢ"

    def __init__(self, query_dim: int, positions: int) -> None:
        super().__init__()
        self.position = nn.Linear(query_dim, positions, bias=False)

    def prepare(self, keys: Float[Tensor, "*batch key key_dim"]) -> Float[Tensor, "*batch key 1"]:
        """Keep one number per key: only their number matters."""
        return keys[..., :1]

    def forward(
        self, queries: Float[Tensor, "*batch query query_dim"], keys: Float[Tensor, "*batch key 1"]
    ) -> Float[Tensor, "*batch query key"]:
        """Project each query to one score per position."""
        length, bound = keys.shape[-2], self.position.out_features
        if length > bound:
            raise InputError(
                f"a sentence of {length} tokens is longer than the {bound} positions of this model's location attention; "
                "shorten it, or train with a larger model.max_positions"
            )
        return F.linear(queries, self.position.weight[:length])


def match(
    score: Score,
    queries: Float[Tensor, "*batch query query_dim"],
    keys: Float[Tensor, "*batch key prepared"],
    *,
    count: int,
) -> Float[Tensor, "*batch query {count}"]:
    """Score every query against every one of `count` prepared keys.

    Raises SettingsError if the score, which may be that of a plugin, returns anything else than a number for each pair: torch
    would repeat some shapes to fit, and average the wrong values.
    """
    scores: object = score(queries, keys)
    needed = (*queries.shape[:-1], count)
    if isinstance(scores, Tensor) and scores.shape == needed:
        return scores
    given = (
        f"the shape {tuple(scores.shape)}" if isinstance(scores, Tensor) else f"no tensor but {type(scores).__name__}"
    )
    raise SettingsError(
        f"the score `{type(score).__name__}` returned {given} for queries of shape {tuple(queries.shape)} and {count} keys; it "
        f"must return one number for each query and key, here the shape {needed}"
    )


def is_content_based(name: str) -> bool:
    """Tell whether the score called `name` ignores the order of the keys.

    >>> is_content_based("additive"), is_content_based("location")
    (True, False)
    """
    return name in CONTENT_BASED if name in get_args(ScoreName) else get("score", name).content_based


def build_score(name: str, query_dim: int, key_dim: int, *, hidden: int, positions: int) -> Score:
    """Build the score `name`; `hidden` is the inner size of additive, concat and product, `positions` the limit of location.

    Raises SettingsError if dot or scaled dot is given queries and keys of different sizes.
    """
    if name in ("dot", "scaled_dot") and query_dim != key_dim:
        raise SettingsError(
            f"the score `{name}` multiplies queries of size {query_dim} by keys of size {key_dim}, which must be equal; "
            "choose equal sizes, or the score `scaled_general`"
        )
    match name:
        case "additive":
            return Additive(query_dim, key_dim, hidden)
        case "dot":
            return Dot()
        case "scaled_dot":
            return ScaledDot()
        case "general":
            return General(query_dim, key_dim)
        case "scaled_general":
            return ScaledGeneral(query_dim, key_dim)
        case "concat":
            return Concat(query_dim, key_dim, hidden)
        case "product":
            return Product(query_dim, key_dim, hidden)
        case "cosine":
            return Cosine(query_dim, key_dim)
        case "location":
            return Location(query_dim, positions)
        case _:
            score: Score = get("score", name).make(query_dim, key_dim, hidden=hidden, positions=positions)
            return score
