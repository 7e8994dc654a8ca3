"""Subword regularisation: one word segmented in many ways, each a pure function of the random numbers given.

SentencePiece can sample too, but with its own generator, whose state cannot be saved or restored, so a resumed run would see
different segmentations than an uninterrupted one.
"""

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from dragoman.text.vocabulary import UNK, Vocabulary

CACHED_TOKENS = 1 << 19
"""Characters of cached words (BPE), or pieces they may end with (unigram, about 80 MB); frequent words come early."""

UNKNOWN_PENALTY = 10.0
"""How much lower an unknown character scores than the worst token, as in SentencePiece."""

NO_MERGE = 1 << 62
"""The rank of two pieces that give no piece."""

CutWord = Callable[[str, random.Random, float], Sequence[int]]
"""Samples the ids of one word at a rate above 0."""


class _Word(NamedTuple):
    """How byte pair encoding without dropout segments a word."""

    merges: tuple[int, ...]
    """Where each merge is done, in order: the index of its left piece."""
    ids: Sequence[int]


class BpeDropout:
    """Cuts words by byte pair encoding in which each merge is dropped with probability `rate`.

    Provilkov et al. 2020, algorithm 1: before each merge, every merge possible is dropped or kept, and the best
    one kept is done; the word is finished when none is kept. A piece learned earlier is a better merge, and of two
    equal ones the one further left.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        special = frozenset(vocabulary.special.all)
        self.ranks = {piece: rank for rank, piece in enumerate(vocabulary) if rank not in special}
        """The id of each piece that words may have, which is when its merge was learned."""
        self._words: dict[str, _Word] = {}
        self._cached = 0

    def __call__(self, word: str, rng: random.Random, rate: float) -> Sequence[int]:
        """Sample the ids of `word`.

        How many best merges in a row are kept is drawn at once, from a geometric distribution: mostly it is all of them.
        """
        known = self._words.get(word) or self._segment(word)
        kept = math.log(1.0 - rng.random()) / math.log1p(-rate)
        if kept >= len(known.merges):
            return known.ids
        pieces = list(word)
        for at in known.merges[: int(kept)]:
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        self._merge(pieces, rng.random, rate, dropped=True)
        return self._ids_of(pieces)

    def _segment(self, word: str) -> _Word:
        """Return how a new word is segmented without dropout."""
        pieces = list(word)
        known = _Word(tuple(self._merge(pieces, lambda: 1.0, 0.0)), self._ids_of(pieces))
        if self._cached < CACHED_TOKENS:
            self._cached += len(word)
            self._words[word] = known
        return known

    def _merge(self, pieces: list[str], draw: Callable[[], float], rate: float, *, dropped: bool = False) -> list[int]:
        """Merge `pieces` until each merge possible is dropped, and return where; `dropped`: the best one already is, once."""
        ranks = [self._rank(pair) for pair in pairwise(pieces)]
        merges: list[int] = []
        while True:
            left = ranks
            while (best := min(left, default=NO_MERGE)) != NO_MERGE:
                at = left.index(best)
                if not dropped and draw() >= rate:
                    break
                left = left.copy() if left is ranks else left
                left[at], dropped = NO_MERGE, False
            else:
                return merges
            merges.append(at)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
            del ranks[at]
            for changed in range(max(at - 1, 0), min(at + 1, len(ranks))):
                ranks[changed] = self._rank((pieces[changed], pieces[changed + 1]))

    def _rank(self, pair: tuple[str, str]) -> int:
        """Return when the merge of two pieces was learned: the id of what they give."""
        return self.ranks.get(pair[0] + pair[1], NO_MERGE)

    def _ids_of(self, pieces: Sequence[str]) -> Sequence[int]:
        """Return the ids of pieces."""
        return merge_unknown([self.ranks.get(piece, UNK) for piece in pieces])


class _LastPiece(NamedTuple):
    """A piece with which a cut may end: the probability of it and those listed before it, where it starts, and its id."""

    cumulative: float
    start: int
    id: int


class UnigramSampler:
    """Samples the segmentation of a word with a probability proportional to the model's to the power of 1 / `rate`.

    Kudo 2018, section 3.2, with l = infinity and alpha = 1 / `rate`: forward filtering, backward sampling.
    """

    def __init__(self, vocabulary: Vocabulary, scores: Sequence[float]) -> None:
        special = frozenset(vocabulary.special.all)
        numbered = enumerate(zip(vocabulary, scores, strict=True))
        self._scores = {piece: score for index, (piece, score) in numbered if index not in special}
        self._ids = vocabulary
        self._unknown = min(scores) - UNKNOWN_PENALTY
        self._longest = max(len(piece) for piece in vocabulary)
        self._ends: dict[tuple[str, float], list[list[_LastPiece]]] = {}
        self._kept = 0
        """Pieces in `_ends`."""

    def __call__(self, word: str, rng: random.Random, rate: float) -> Sequence[int]:
        """Sample the ids of `word`."""
        ends = self._ends.get((word, rate))
        if ends is None:
            ends = self._filter(word, rate)
            size = sum(map(len, ends))
            if self._kept + size > CACHED_TOKENS:
                self._ends.clear()
                self._kept = 0
            self._ends[word, rate] = ends
            self._kept += size
        ids, end = [], len(word)
        while end:
            chance = rng.random()
            last = next(option for option in ends[end] if chance < option.cumulative)
            ids.append(last.id)
            end = last.start
        return merge_unknown(ids[::-1])

    def _filter(self, word: str, rate: float) -> list[list[_LastPiece]]:
        """Return for each end the pieces that may end there."""
        totals, ends = [0.0], [list[_LastPiece]()]
        for end in range(1, len(word) + 1):
            found = [
                (s, self._ids.id(word[s:end]), self._score(word[s:end]))
                for s in range(max(0, end - self._longest), end)
            ]
            weights = [
                (totals[start] + score / rate, start, piece) for start, piece, score in found if score is not None
            ]
            top = max(weight for weight, _, _ in weights)
            total = math.fsum(math.exp(weight - top) for weight, _, _ in weights)
            totals.append(top + math.log(total))
            cumulative, column = 0.0, []
            for weight, start, piece in weights:
                cumulative += math.exp(weight - top) / total
                column.append(_LastPiece(cumulative, start, piece))
            column[-1] = column[-1]._replace(cumulative=math.inf)
            ends.append(column)
        return ends

    def _score(self, piece: str) -> float | None:
        """Return the log-probability of `piece`; an unknown character has one, a longer unknown string has none."""
        return self._scores.get(piece, self._unknown if len(piece) == 1 else None)


def merge_unknown(ids: Sequence[int]) -> list[int]:
    """Merge adjacent UNKs, as SentencePiece does.

    >>> merge_unknown([7, 3, 3, 9, 3])
    [7, 3, 9, 3]
    """
    return [piece for at, piece in enumerate(ids) if piece != UNK or at == 0 or ids[at - 1] != UNK]
