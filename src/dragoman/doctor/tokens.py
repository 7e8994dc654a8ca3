"""Cut many lines into tokens at once, and number the tokens of both sides."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

_HAN_AND_KANA = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_HAN_AND_KANA}]|[^\W{_HAN_AND_KANA}]+|[^\w\s]|\n")
"""A character of a script without spaces, a word, or a mark."""

WORD, NUMBER, MARK = range(3)
"""Kinds of tokens: letters alone; letters or digits; anything else."""


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
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    ends, empty = numbers["\n"], numbers[""]
    tokens = [_TOKEN.findall(_joined(lines).casefold()) for lines in (sources, targets)]
    types = [np.fromiter(map(numbers.__getitem__, side), np.int64, len(side)) for side in tokens]
    order = np.argsort(np.bincount(np.concatenate(types), minlength=len(numbers)), kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    kinds = np.array([_kind(token) for token in numbers], np.int64)[order]

    def side(lines: Sequence[str], types: Int64[np.ndarray, " tokens"]) -> Side:
        rows = np.cumsum(types == ends)[types != ends]
        blank = np.flatnonzero(np.bincount(rows, minlength=len(lines)) == 0)
        lengths = np.fromiter(map(len, lines), np.int64, len(lines))
        lengths[blank] = 0
        inside = np.concatenate([types[types != ends], np.full(len(blank), empty)])
        keys = np.sort(np.concatenate([rows, blank]) * len(ranks) + ranks[inside])
        keys = keys[np.diff(keys, prepend=-1) > 0]
        return Side(lengths, keys // len(ranks), keys % len(ranks))

    return Batch(side(sources, types[0]), side(targets, types[1]), kinds, origin)


def _joined(lines: Sequence[str]) -> str:
    """Return one text in which each line ends before the next line feed."""
    text = "\n".join(lines)
    return text if text.count("\n") < max(len(lines), 1) else "\n".join(line.replace("\n", " ") for line in lines)


def _kind(token: str) -> int:
    """Return the kind of a token.

    >>> [_kind(token) for token in ("chó", "b52", "!")] == [WORD, NUMBER, MARK]
    True
    """
    return WORD if token.isalpha() else NUMBER if token.isalnum() else MARK
