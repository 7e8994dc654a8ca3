"""Cut many lines into tokens at once, and number the tokens of both sides."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, UInt64

from dragoman.doctor import characters
from dragoman.doctor.hashes import numbered, segment_hashes

WORD, NUMBER, MARK = range(3)
"""Kinds of tokens: letters alone; letters or digits; anything else."""
_EMPTY = np.uint64(MARK)
"""Stands for the one token of a line without any."""
_KIND = np.uint64(3)
"""Bits of the hash of a token that say its kind."""


@dataclass(frozen=True)
class Tokens:
    """The tokens of some lines, one line after another."""

    lengths: Int64[np.ndarray, " lines"]
    """Characters of each line."""
    starts: Int64[np.ndarray, " edges"]
    """Where the tokens of each line start, and, at last, how many tokens there are."""
    hashes: UInt64[np.ndarray, " tokens"]
    """A number for each token: the same for the same letters in either case; others have it by chance once in about 2^60."""

    @classmethod
    def of(cls, lines: Sequence[str]) -> "Tokens":
        """Cut lines into tokens: words, other signs, and characters of scripts without spaces.

        >>> np.diff(Tokens.of(["A dog!", "", "我爱 NLP"]).starts).tolist()
        [3, 0, 3]
        """
        lengths = np.fromiter(map(len, lines), np.int64, len(lines))
        units = np.frombuffer(_joined(lines).encode("utf-16-le", "surrogatepass"), np.uint16)
        kinds = characters.token_kinds()[units]
        word = (kinds == characters.LETTERS) | (kinds == characters.WORDS)
        begins = kinds >= characters.ALONE
        begins[1:] |= word[1:] & ~word[:-1]
        begins[:1] |= word[:1]
        at = np.flatnonzero(begins)
        edges = np.append(0, np.searchsorted(at, np.flatnonzero(units == ord("\n"))))
        if not len(at):
            return cls(lengths, edges, np.zeros(0, np.uint64))
        hashes = segment_hashes(characters.token_codes()[units], at)
        numbers = np.logical_or.reduceat(kinds == characters.WORDS, at)
        kind = np.where(kinds[at] == characters.SIGN, MARK, np.where(numbers, NUMBER, WORD)).astype(np.uint64)
        return cls(lengths, edges, (hashes & ~_KIND) | kind)

    def __len__(self) -> int:
        return len(self.lengths)

    def part(self, first: int, end: int | None = None) -> "Tokens":
        """Return the tokens of the lines from `first` up to `end`."""
        starts = self.starts[first : None if end is None else end + 1]
        hashes = self.hashes[starts[0] : starts[-1]] if len(starts) else self.hashes[:0]
        return Tokens(self.lengths[first:end], starts - starts[:1] if len(starts) else np.zeros(1, np.int64), hashes)

    def joined(self, other: "Tokens") -> "Tokens":
        """Return the tokens of these lines and of others after them."""
        starts = np.concatenate([self.starts, other.starts[1:] + self.starts[-1]])
        return Tokens(
            np.concatenate([self.lengths, other.lengths]), starts, np.concatenate([self.hashes, other.hashes])
        )


@dataclass(frozen=True)
class Side:
    """Consecutive lines of one file."""

    lengths: Int64[np.ndarray, " lines"]
    """Characters of each line; 0 for one without tokens."""
    rows: Int64[np.ndarray, " entries"]
    """Which line each entry is from, counted from 0; ascending."""
    types: Int64[np.ndarray, " entries"]
    """A token of that line, once each; ascending within a line, so that its rarest token is first."""

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class Batch:
    """Consecutive lines of a source file, and those of the target file among which their partners are looked for."""

    source: Side
    target: Side
    kinds: Int64[np.ndarray, " types"]
    """`WORD`, `NUMBER` or `MARK`; types are numbered from the rarest to the most frequent token of both sides."""
    origin: int
    """Row of the target with the line number of the first row of the source."""


def read_batch(sources: Sequence[str], targets: Sequence[str], origin: int = 0) -> Batch:
    """Cut the lines of both sides into tokens, and number these; a line without tokens contains the empty one.

    >>> batch = read_batch(["A dog!"], ["Ein Hund!", ""])
    >>> batch.source.lengths.tolist(), batch.target.rows.tolist(), batch.target.lengths.tolist()
    ([6], [0, 0, 0, 1], [9, 0])
    """
    return number_tokens(Tokens.of(sources), Tokens.of(targets), origin)


def number_tokens(sources: Tokens, targets: Tokens, origin: int) -> Batch:
    """Number the tokens of both sides, from the rarest to the most frequent."""
    every = np.concatenate([sources.hashes, targets.hashes, [_EMPTY]])
    hashes, numbers = numbered(every)
    order = np.argsort(np.bincount(numbers), kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    types, empty = ranks[numbers[:-1]], ranks[numbers[-1]]

    def side(tokens: Tokens, types: Int64[np.ndarray, " tokens"]) -> Side:
        sizes = np.diff(tokens.starts)
        blank = np.flatnonzero(sizes == 0)
        lengths = tokens.lengths.copy()
        lengths[blank] = 0
        keys = np.repeat(np.arange(len(tokens)), sizes) * len(ranks) + types
        keys = np.sort(np.concatenate([keys, blank * len(ranks) + empty]))
        keys = keys[np.diff(keys, prepend=-1) > 0]
        rows = keys // len(ranks)
        return Side(lengths, rows, keys - rows * len(ranks))

    middle = len(sources.hashes)
    kinds = (hashes & _KIND).astype(np.int64)[order]
    return Batch(side(sources, types[:middle]), side(targets, types[middle:]), kinds, origin)


def _joined(lines: Sequence[str]) -> str:
    """Return one text in which each line ends with a line feed."""
    text = "\n".join([*lines, ""])
    return text if text.count("\n") == len(lines) else "\n".join([*(line.replace("\n", " ") for line in lines), ""])
