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
"""Tokens in cached segmentations, about 80 MB; frequent words come early, so later ones are not cached."""

UNKNOWN_PENALTY = 10.0
"""How much lower an unknown character scores than the worst token, as in SentencePiece."""

CutWord = Callable[[str, random.Random, float], Sequence[int]]
"""Samples the ids of one word at a rate above 0."""


class _State:
    """A segmented word, and its possible merges, best first."""

    __slots__ = ("ids", "merged", "merges", "pieces")

    def __init__(self, pieces: tuple[str, ...], vocabulary: Vocabulary, special: frozenset[int]) -> None:
        joined = ((vocabulary.id(left + right), at) for at, (left, right) in enumerate(pairwise(pieces)))
        self.pieces = pieces
        self.ids = merge_unknown([vocabulary.id(piece) for piece in pieces])
        self.merges = [at for rank, at in sorted(joined) if rank not in special]
        self.merged: list[_State | None] = [None] * len(self.merges)


class BpeDropout:
    """Cuts words by byte pair encoding in which each merge is dropped with probability `rate`.

    Provilkov et al. 2020, algorithm 1: before each merge, every merge possible is dropped or kept, and the best
    one kept is done; the word is finished when none is kept. A piece learned earlier is a better merge, and of two
    equal ones the one further left.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._special = frozenset(vocabulary.special.all)
        self._words: dict[str, _State] = {}
        self._states: dict[tuple[str, ...], _State] = {}
        self._cached = 0

    def __call__(self, word: str, rng: random.Random, rate: float) -> Sequence[int]:
        """Sample the ids of `word`."""
        state, draw = self._words.get(word) or self._start(word), rng.random
        while True:
            for choice, merged in enumerate(state.merged):
                if draw() >= rate:
                    state = merged or self._merge(state, choice)
                    break
            else:
                return state.ids

    def _start(self, word: str) -> _State:
        """Return the state of a new word."""
        state = self._state(tuple(word))
        if self._cached < CACHED_TOKENS:
            self._words[word] = state
        return state

    def _merge(self, state: _State, choice: int) -> _State:
        """Return the state after one of the merges possible."""
        at, pieces = state.merges[choice], state.pieces
        merged = self._state((*pieces[:at], pieces[at] + pieces[at + 1], *pieces[at + 2 :]))
        if self._cached < CACHED_TOKENS:
            state.merged[choice] = merged
        return merged

    def _state(self, pieces: tuple[str, ...]) -> _State:
        """Return the one state for `pieces`."""
        state = self._states.get(pieces)
        if state is None:
            state = _State(pieces, self._vocabulary, self._special)
            if self._cached < CACHED_TOKENS:
                self._cached += len(pieces)
                self._states[pieces] = state
        return state


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
