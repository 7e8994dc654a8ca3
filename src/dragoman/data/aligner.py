"""A statistical word aligner that learns from a corpus in seconds, so that attention can learn from its links."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from dragoman.data.links import spaced
from dragoman.text.links import Links

VERSION = 1
"""Is raised when the same corpus gets other links."""
CELLS = 10_000_000
"""Pairs of a source and a target word to learn from; of a larger corpus every second, fourth ... sentence pair is used."""
ROUNDS = (3, 3)
"""Rounds of expectation maximisation, before and after the strength of the diagonal is chosen."""
STRENGTHS = (0.0, 1.0, 2.0, 4.0, 8.0)
"""How strongly links are expected near the diagonal (lambda in Dyer et al. 2013): the likeliest of these is used."""
NULL = 0.08
"""Probability that a target word has no link."""
ADDED = 1.0
"""Added to the count of a source word before dividing by it, so that a rare word does not attract every link."""

_OUTER = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True)
class WordAligner:
    """Links each target word to the source word that most probably generated it, or to none.

    IBM model 1, then model 2 with a prior for the diagonal as fast_align has it (Dyer, Chahuneau and Smith 2013, section 2).
    Deviations: the strength of the prior is the likeliest of `STRENGTHS`; a word without a link has its relative frequency
    as probability, in place of learned translations of an empty word; counts are smoothed by `ADDED`, not by variational
    Bayes. Words are what is between spaces, lower case, without punctuation at either end.
    """

    words: tuple[dict[str, int], dict[str, int]]
    """Ids of source and target words."""
    keys: Int64[np.ndarray, " known"]
    """Sorted; one key for each pair of words seen together: source id times the number of target words, plus target id."""
    probabilities: Float64[np.ndarray, " known"]
    """p(target word | source word) of each key."""
    frequencies: Float64[np.ndarray, " targets"]
    """Relative frequency of each target word."""
    strength: float
    """How strongly links are expected near the diagonal."""

    def links(self, source: str, target: str) -> Links:
        """Return the links of a sentence pair, at most one for each target word."""
        given, output = (
            np.array([known.get(_key(word), -1) for word in spaced(text)], np.int64)
            for known, text in zip(self.words, (source, target), strict=True)
        )
        if not (len(given) and len(output) and len(self.keys)):
            return Links(frozenset())
        keys = given * len(self.frequencies) + output[:, None]
        at = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        seen = (self.keys[at] == keys) & (given >= 0) & (output[:, None] >= 0)
        scores = np.where(seen, self.probabilities[at], 0) * self._prior(len(given), len(output))
        alone = NULL * np.where(output >= 0, self.frequencies[output], 1)
        linked = np.flatnonzero(scores.max(1) > alone)
        return Links(frozenset(zip(scores.argmax(1)[linked].tolist(), linked.tolist(), strict=True)))

    def _prior(self, sources: int, targets: int) -> Float64[np.ndarray, "targets sources"]:
        """Return the prior probability that each target word is linked to each source word, given the lengths."""
        weights = np.exp(-self.strength * _distances(sources, targets))
        return (1 - NULL) * weights / weights.sum(1, keepdims=True)


def learn_aligner(pairs: Iterable[tuple[str, str]]) -> WordAligner:
    """Learn a word aligner from sentence pairs by expectation maximisation, in memory bounded by `CELLS`."""
    words: tuple[dict[str, int], dict[str, int]] = ({}, {})
    kept = _numbered(pairs, words)
    outputs = len(words[1])
    tokens = np.concatenate([_NONE, *(target for _, target in kept)])
    cells = np.concatenate([_NONE, *((source * outputs + target[:, None]).ravel() for source, target in kept)])
    distances = np.concatenate(
        [np.zeros(0), *(_distances(len(source), len(target)).ravel() for source, target in kept)]
    )
    token = np.repeat(np.arange(len(tokens)), [len(source) for source, target in kept for _ in target])
    keys, known = np.unique(cells, return_inverse=True)
    frequencies = np.bincount(tokens, minlength=outputs) / max(len(tokens), 1)
    origins = keys // max(outputs, 1)

    def prior(strength: float) -> Float64[np.ndarray, " cells"]:
        weights = np.exp(-strength * distances)
        return (1 - NULL) * weights / np.bincount(token, weights, minlength=len(tokens))[token]

    def likelihoods(shares: Float64[np.ndarray, " cells"]) -> Float64[np.ndarray, " tokens"]:
        return np.bincount(token, shares, minlength=len(tokens)) + NULL * frequencies[tokens]

    def improved(
        probabilities: Float64[np.ndarray, " known"], before: Float64[np.ndarray, " cells"], rounds: int
    ) -> Float64[np.ndarray, " known"]:
        for _ in range(rounds):
            shares = before * probabilities[known]
            counts = np.bincount(known, shares / likelihoods(shares)[token], minlength=len(keys))
            probabilities = counts / (np.bincount(origins, counts) + ADDED)[origins]
        return probabilities

    probabilities = improved(np.full(len(keys), 1 / max(outputs, 1)), prior(0.0), ROUNDS[0])
    strength = max(STRENGTHS, key=lambda one: float(np.log(likelihoods(prior(one) * probabilities[known])).sum()))
    return WordAligner(words, keys, improved(probabilities, prior(strength), ROUNDS[1]), frequencies, strength)


_NONE = np.zeros(0, np.int64)


def _numbered(pairs: Iterable[tuple[str, str]], words: tuple[dict[str, int], dict[str, int]]) -> list[tuple[Any, Any]]:
    """Return the word ids of pairs spread evenly over the corpus, few enough for `CELLS`; new words get the next ids."""
    kept: list[tuple[Any, Any]] = []
    cells, every = 0, 1
    for number, pair in enumerate(pairs):
        if number % every:
            continue
        source, target = (
            np.array([ids.setdefault(_key(word), len(ids)) for word in spaced(text)], np.int64)
            for ids, text in zip(words, pair, strict=True)
        )
        kept.append((source, target))
        cells += len(source) * len(target)
        if cells > CELLS and len(kept) > 1:
            kept, every = kept[::2], 2 * every
            cells = sum(len(source) * len(target) for source, target in kept)
    return kept


@lru_cache(maxsize=512)
def _distances(sources: int, targets: int) -> Float64[np.ndarray, "targets sources"]:
    """Return how far each link between sentences of these lengths is from the diagonal, from 0 to 1.

    >>> _distances(2, 2).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    return np.abs(np.arange(targets)[:, None] / max(targets, 1) - np.arange(sources) / max(sources, 1))


def _key(word: str) -> str:
    """Return the form by which a word is known.

    >>> [_key(word) for word in ("Sách,", "...")]
    ['sách', '...']
    """
    return _OUTER.sub("", word).casefold() or word
