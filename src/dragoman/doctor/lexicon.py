"""Which target token tells that a source token has been translated: the same one, or one learned from lines that fit."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from dragoman.doctor.tokens import Batch, Side

NOWHERE = -(1 << 40)
"""Offset of a line that has no partner."""
NONE = -1
"""Stands for a token by which nothing can be recognised."""

FOLDS = 2
FOLD = 32
"""Each block of this many lines is judged by the words of the other blocks, so that no line testifies for itself."""
RARE, FREQUENT = 3, 1 / 3
"""A word is learned if it is in so many lines at least, and in such a part of all lines at most."""
WORDS = 12
"""So many words of a line, its rarest, are learned from."""
CELLS = 2_000_000
"""Pairs of words to learn from, for each fold; where there are more, lines are left out evenly."""
ASSOCIATION = 4.0
"""Least log-likelihood, in nats, by which two words must occur together more than by chance."""

_KINDS, _SIZES, _LEVELS, _COUNTS = 3, 8, 8, 3
CLASSES = _KINDS * _SIZES + _LEVELS * _COUNTS
"""Classes of equally reliable tokens: first same tokens by kind and frequency, then learned ones by information and count."""


@dataclass(frozen=True)
class Lexicon:
    """The token of the target that each token of the source is recognised by, and how reliable that is, for each fold."""

    partners: Int64[np.ndarray, "folds types"]
    """A target type, or `NONE`."""
    classes: Int64[np.ndarray, "folds types"]
    """Which of `CLASSES` the reliability is judged with."""


def same_tokens(batch: Batch) -> Lexicon:
    """Return the lexicon for a corpus that nothing is known of: tokens stay as they are, if the target has them at all."""
    counts = np.bincount(batch.target.types, minlength=len(batch.kinds))
    types = np.arange(len(counts))
    usable = (counts > 0) & (counts <= max(FREQUENT * len(batch.target), 1))
    sizes = np.minimum(np.log2(np.maximum(counts, 1)).astype(np.int64) // 2, _SIZES - 1)
    partners, classes = np.where(usable, types, NONE), batch.kinds * _SIZES + sizes
    return Lexicon(np.tile(partners, (FOLDS, 1)), np.tile(classes, (FOLDS, 1)))


def learn_lexicon(batch: Batch, path: Int64[np.ndarray, " lines"]) -> Lexicon:
    """Learn a lexicon from the lines that fit on a `path`, which has the offset of each source line or `NOWHERE`.

    The partner of a source token is the target token with the largest c log(c n / (a b)), where a, b and c of n lines contain
    the source token, the target token and both: the leading term of the log-likelihood ratio (Dunning 1993, section 5).
    """
    lexicon = same_tokens(batch)
    words = _Words.of(batch.source), _Words.of(batch.target)
    rows = np.arange(len(path))
    partners = rows + path + batch.origin
    fitting = (partners >= 0) & (partners < len(batch.target))
    for fold in range(FOLDS):
        used = np.flatnonzero(fitting & (fold_of(rows) != fold))
        found = _associated(*words, np.stack([used, partners[used]]), types=len(batch.kinds))
        lexicon.partners[fold, found.sources] = found.targets
        lexicon.classes[fold, found.sources] = found.classes
    return lexicon


def fold_of(rows: Int64[np.ndarray, " rows"]) -> Int64[np.ndarray, " rows"]:
    """Return the fold of source rows."""
    return rows // FOLD % FOLDS


def ragged(starts: Int64[np.ndarray, " groups"], sizes: Int64[np.ndarray, " groups"]) -> Int64[np.ndarray, " items"]:
    """Return the numbers from each start on, as many as its size says.

    >>> ragged(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    return np.arange(sizes.sum()) + np.repeat(starts - ends + sizes, sizes)


@dataclass(frozen=True)
class _Words:
    """The tokens of each line that are worth learning from."""

    types: Int64[np.ndarray, " entries"]
    starts: Int64[np.ndarray, " lines"]
    """Where the tokens of each line start."""
    sizes: Int64[np.ndarray, " lines"]
    """How many there are."""

    @classmethod
    def of(cls, side: Side) -> "_Words":
        """Choose the rarest tokens of each line, without those that are too rare to be learned."""
        counts = np.bincount(side.types)
        inside = ((counts >= RARE) & (counts <= max(FREQUENT * len(side), RARE)))[side.types]
        sizes = np.bincount(side.rows[inside], minlength=len(side))
        return cls(side.types[inside], np.cumsum(sizes) - sizes, np.minimum(sizes, WORDS))

    def inside(self, rows: Int64[np.ndarray, " rows"]) -> Int64[np.ndarray, " tokens"]:
        """Return the tokens of some lines, one line after another."""
        return self.types[ragged(self.starts[rows], self.sizes[rows])]


@dataclass(frozen=True)
class _Associated:
    """Pairs of tokens that occur together."""

    sources: Int64[np.ndarray, " pairs"]
    targets: Int64[np.ndarray, " pairs"]
    classes: Int64[np.ndarray, " pairs"]


def _associated(source: _Words, target: _Words, pairs: Int64[np.ndarray, "2 lines"], *, types: int) -> _Associated:
    """Return the best partner of each source token that has a good one, learned from pairs of source and target rows."""
    cells = int((source.sizes[pairs[0]] * target.sizes[pairs[1]]).sum())
    pairs = pairs[:, :: max(-(-cells // CELLS), 1)]
    given, output = source.inside(pairs[0]), target.inside(pairs[1])
    widths = source.sizes[pairs[0]]
    repeats, starts = (np.repeat(values[pairs[1]], widths) for values in (target.sizes, target.starts))
    keys, both = np.unique(
        np.repeat(given, repeats) * types + target.types[ragged(starts, repeats)], return_counts=True
    )
    keys, both = keys[both > 1], both[both > 1]
    lines = pairs.shape[1]
    sources, targets = keys // types, keys % types
    a, b = np.bincount(given, minlength=types)[sources], np.bincount(output, minlength=types)[targets]
    strengths = both * np.log(both * lines / (a * b))
    order = np.flatnonzero(strengths > ASSOCIATION)
    order = order[np.argsort(strengths[order], kind="stable")]
    best = np.full(types, NONE)
    best[sources[order]] = order
    best = best[best != NONE]
    return _Associated(sources[best], targets[best], _learned_class(both[best], a[best], b[best] / lines))


def _learned_class(
    both: Int64[np.ndarray, " pairs"], given: Int64[np.ndarray, " pairs"], chance: Float64[np.ndarray, " pairs"]
) -> Int64[np.ndarray, " pairs"]:
    """Return the class of learned pairs: by what an occurrence of the source token tells, and how often both were seen."""
    share, chance = both / (given + 1), np.minimum(chance, 0.99)
    nats = share * np.log(share / chance) + (1 - share) * np.log((1 - share) / (1 - chance))
    level = np.clip(np.log2(np.maximum(nats, 1e-9)) + 5, 0, _LEVELS - 1).astype(np.int64)
    count = np.clip(np.log2(both) // 2, 0, _COUNTS - 1).astype(np.int64)
    return _KINDS * _SIZES + level * _COUNTS + count
