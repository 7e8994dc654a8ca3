"""Numbers that say how far a translation, or a word of it, can be trusted: from `Evidence` to named features.

Larger may be better or worse: a calibration learns that.
"""

import math
import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from dragoman.inference.confidence.evidence import Evidence
from dragoman.inference.confidence.surface import (
    bare,
    capitalised,
    copied,
    lost_numbers,
    repetition,
    unmatched,
)
from dragoman.iso639 import base_code

SMOOTHING = 5
"""Letters added to both lengths, so that the ratio of short sentences is not extreme."""
DENSE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
"""Letters of Chinese, Japanese and Korean, which stand for a syllable or a word."""
LETTERS = 2.5
"""Letters of an alphabet that one of them counts as."""
UNSUPPORTED = 0.1
"""A token that no source word makes more probable by this many nats does not come from the source."""
EXPECTED = 1.0
"""A source word is expected to make the translation more probable by so many nats."""
MOST = 2.0
"""A word that the translation needs ends an omission: it counts against it, up to so much."""
NAT = 1.0
"""Surprise that every translation has at least."""
WITH_CAPITALS = frozenset({"de", "lb"})
"""Languages in which all nouns have capitals."""


def capitals_say_little(language: str) -> bool:
    """Tell whether all nouns of a language have capitals, so that a capital is no sign of a name.

    >>> [capitals_say_little(code) for code in ("de", "de-AT", "deu_Latn", "en")]
    [True, True, True, False]
    """
    return base_code(language) in WITH_CAPITALS


def sentence_features(evidence: Evidence, languages: tuple[str, str]) -> dict[str, float]:
    """Return the features of a translation; those of passes that were not made are absent."""
    tokens, source, target = evidence.log_probs, evidence.source, evidence.target
    features = {
        "log-probability": float(tokens.mean()),
        "worst fifth": worst_fifth(tokens),
        "deviation": float(tokens.std()),
        "entropy": float(evidence.entropies.mean()),
        "length": length_ratio(source, target),
        "source words": math.log(1 + len(source)),
        "repetition": repetition(source, target),
        "copied": copied(source, target),
        "numbers lost": len(lost_numbers(source, target)) / max(len(source), 1),
        "numbers added": len(lost_numbers(target, source)) / max(len(target), 1),
        "names added": len(added_names(evidence, languages)) / max(len(target), 1),
    }
    if evidence.attention is not None:
        features |= _attention(evidence.attention)
    if evidence.erased is not None:
        features |= _erasure(evidence)
    if evidence.foreign is not None:
        features["contrast"] = contrast(evidence.log_probs, evidence.foreign)
    if evidence.dropped is not None:
        features |= {"dropout": float(evidence.dropped.mean()), "dropout spread": float(evidence.dropped.std())}
    if evidence.agreement is not None:
        features["agreement"] = evidence.agreement
    if evidence.reverse is not None:
        features["reverse"] = evidence.reverse
    return features


def word_features(evidence: Evidence) -> list[dict[str, float]]:
    """Return the features of each word of a translation."""
    rows = []
    for word in range(len(evidence.target)):
        places = [token for token, owner in enumerate(evidence.owners) if owner == word]
        own = evidence.log_probs[places] if places else evidence.log_probs
        row = {
            "log-probability": float(own.mean()),
            "least probable token": float(own.min()),
            "entropy": float(evidence.entropies[places].max()) if places else float(evidence.entropies.mean()),
            "sentence": float(evidence.log_probs.mean()),
            "next word": float(evidence.log_probs[max(places, default=0) + 1 :][:1].sum()),
        }
        if evidence.erased is not None:
            row["support"] = float(np.log1p(evidence.support[places].max())) if places else 0.0
        rows.append(row)
    return rows


def worst_fifth(log_probs: Float[np.ndarray, " token"]) -> float:
    """Return the mean of the least probable fifth of the tokens, at least one.

    >>> worst_fifth(np.array([-0.1, -0.2, -5.0, -0.1, -3.0])), worst_fifth(np.array([-0.1, -0.2, -5.0, -0.1, -0.3, -3.0]))
    (-5.0, -4.0)
    """
    return float(np.sort(log_probs)[: math.ceil(len(log_probs) / 5)].mean())


def length_ratio(source: Sequence[str], target: Sequence[str]) -> float:
    """Return the logarithm of the ratio of letters, target to source; one that stands for a syllable counts as several.

    >>> round(length_ratio(["abcde"], ["abcde", "abcdefghij"]), 2), round(length_ratio(["abcde"], ["猫猫"]), 2)
    (0.69, 0.0)
    """
    one, other = (_letters("".join(words)) + SMOOTHING for words in (source, target))
    return math.log(other / one)


def _letters(text: str) -> float:
    """Return how many letters of an alphabet a text would have, about."""
    return len(text) + (LETTERS - 1) * len(DENSE.findall(text))


def added_names(evidence: Evidence, languages: tuple[str, str]) -> list[str]:
    """Return names of the translation without anything similar in the source."""
    if capitals_say_little(languages[1]):
        return []
    return unmatched(capitalised(evidence.target), evidence.source)


def unsupported(evidence: Evidence) -> float:
    """Return the share of tokens, </s> left out, that no source word makes more probable; 0 of signs alone from signs alone."""
    if len(evidence.log_probs) <= 1 or not any(map(bare, (*evidence.source, *evidence.target))):
        return 0.0
    return float((evidence.support[:-1] < UNSUPPORTED).mean())


def omitted(evidence: Evidence) -> tuple[float, list[int]]:
    """Return the neighbouring source words that the translation needs least, and how much they fall short together.

    Each word falls short by 1 minus its gain; the neighbours with the largest sum are found by Kadane's algorithm.
    """
    assert evidence.erased is not None
    best, found = 0.0, list[int]()
    total, current = 0.0, list[int]()
    for word, gain in enumerate(evidence.gains.tolist()):
        if np.isnan(gain):
            continue
        total, current = total + max(EXPECTED - gain, -MOST), [*current, word]
        if total <= 0:
            total, current = 0.0, []
        if total > best:
            best, found = total, current
    return best, found


def contrast(log_probs: Float[np.ndarray, " token"], foreign: Float[np.ndarray, "other token"]) -> float:
    """Return how much of a translation's surprise, given other sources, its own source explains: 1 all, 0 or less nothing.

    The mixture of the other sources estimates the probability of each token without its source, so that what is left is about
    the source, and not about how usual the words are. Source: Theil's uncertainty coefficient, here of one translation, and
    with one nat more of surprise, so that the ratio of small numbers stays small.

    >>> round(contrast(np.log([0.5, 0.5]), np.log([[0.1, 0.5], [0.4, 0.5]])), 3)
    0.225
    """
    surprise = -(np.logaddexp.reduce(foreign, 0) - np.log(len(foreign))).sum()
    return float((surprise + log_probs.sum()) / (surprise + NAT))


def _attention(weights: Float[np.ndarray, "token word"]) -> dict[str, float]:
    """Return the share of attention that is not on words, its entropy, and the share of words that receive little."""
    received, uniform = weights.sum(0), len(weights) / max(weights.shape[1], 1)
    entropy = -(weights * np.log(np.maximum(weights, 1e-12))).sum(1).mean()
    return {
        "attention elsewhere": float(1 - weights.sum(1).mean()),
        "attention entropy": float(entropy),
        "unattended": float((received < uniform / 5).mean()) if len(received) else 0.0,
    }


def _erasure(evidence: Evidence) -> dict[str, float]:
    """Return how much the translation needs the source: its tokens, and the words of the source."""
    assert evidence.erased is not None
    gains = evidence.gains[~np.isnan(evidence.gains)]
    support = evidence.support
    return {
        "support": float(support.mean()),
        "unsupported": unsupported(evidence),
        "least support": worst_fifth(support),
        "source gain": float(np.log1p(np.maximum(gains, 0)).mean()) if len(gains) else 0.0,
        "omission": omitted(evidence)[0],
        "whole source": 0.0 if evidence.emptied is None else float(np.nan_to_num(evidence.emptied).mean()),
        "useless source": float((gains < UNSUPPORTED).mean()) if len(gains) else 0.0,
    }
