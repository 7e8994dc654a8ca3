"""Named alarms: what is visibly wrong with a translation, with the words that show it. No calibration is needed.

The limits are those of `AlarmLimits`; a calibration sets them so that good translations rarely exceed them.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from pydantic import Field

from dragoman.inference.confidence.evidence import Evidence
from dragoman.inference.confidence.features import (
    EXPECTED,
    capitals_say_little,
    contrast,
    length_ratio,
    omitted,
    unsupported,
)
from dragoman.inference.confidence.surface import (
    capitalised,
    copied,
    looks_like_a_name,
    lost_numbers,
    repetition,
    unmatched,
)
from dragoman.settings import Settings

AlarmName = Literal["repetition", "too short", "too long", "copied", "number lost", "name lost", "omission", "detached"]
"""What an alarm says."""
ALARMS: tuple[AlarmName, ...] = get_args(AlarmName)


@dataclass(frozen=True)
class Alarm:
    """One alarm; `words` are those of the source that are lost, or nothing if the whole translation is meant."""

    name: AlarmName
    words: tuple[str, ...] = ()
    places: tuple[int, ...] = field(default=(), compare=False)
    """Their numbers among the words of the source, from 0."""

    def __str__(self) -> str:
        """Return the name and the words.

        >>> str(Alarm("number lost", ("1998",)))
        'number lost: 1998'
        """
        return f"{self.name}: {' '.join(self.words)}" if self.words else self.name


class AlarmLimits(Settings):
    """Beyond which values an alarm is raised."""

    repetition: float = Field(default=0.3, ge=0)
    """Share of the translation that repeats itself."""
    copied: float = Field(default=0.6, ge=0)
    """Share of the translation's letters that are in words copied from the source."""
    omission: float = Field(default=3.0, ge=0)
    """Sum over neighbouring source words of what each falls short of 1 nat of use for the translation."""
    name: float = EXPECTED
    """Nats of use for the translation: a name with less, and with nothing similar in the translation, is lost."""
    detached: float = Field(default=0.8, ge=0)
    """Share of the tokens that no source word makes more probable."""
    contrast: float = 0.0
    """Share of the translation's surprise, given other sources, that its own source must explain."""
    shortest: float = -1.1
    """Logarithm of the ratio of letters, target to source: the least."""
    longest: float = 1.1
    """The same, the most."""


def shown(words: Iterable[str]) -> tuple[str, ...]:
    """Return words without the punctuation around them.

    >>> shown(["(Anna", "saw", "Paris."])
    ('Anna', 'saw', 'Paris')
    """
    return tuple(re.sub(r"^[^\w]+|[^\w]+$", "", word) or word for word in words)


def raise_alarms(evidence: Evidence, limits: AlarmLimits, languages: tuple[str, str]) -> tuple[Alarm, ...]:
    """Return the alarms of a translation; those that need passes that were not made are never raised."""
    return tuple(_alarms(evidence, limits, languages))


def measured(evidence: Evidence, languages: tuple[str, str]) -> dict[str, float]:
    """Return what the limits are compared with, by the name of the limit; both lengths compare one number."""
    found = {
        "repetition": repetition(evidence.source, evidence.target),
        "copied": copied(evidence.source, evidence.target),
        "length": length_ratio(evidence.source, evidence.target),
    }
    if evidence.erased is not None:
        least = min(unmatched_names(evidence, languages).values(), default=math.inf)
        found |= {"omission": omitted(evidence)[0], "detached": unsupported(evidence), "name": least}
    if evidence.foreign is not None:
        found["contrast"] = contrast(evidence.log_probs, evidence.foreign)
    return found


def limits_from(measures: Sequence[Mapping[str, float]], share: float) -> AlarmLimits:
    """Return limits that at most this share of good translations exceed, each limit alone; none but those of lengths is
    stricter than its default.

    >>> limits_from([{"repetition": 0.01 * one, "length": 0.0} for one in range(101)], 0.1).repetition
    0.9
    """
    defaults = AlarmLimits()
    chosen = {}
    for name in ("repetition", "copied", "omission", "detached"):
        values = [one[name] for one in measures if name in one]
        if values:
            most = max(getattr(defaults, name), float(np.quantile(values, 1 - share, method="higher")))
            chosen[name] = math.ceil(most * 1e4) / 1e4
    for name in ("contrast", "name"):
        values = [one[name] for one in measures if name in one]
        if values:
            least = min(getattr(defaults, name), float(np.quantile(values, share, method="lower")))
            chosen[name] = math.floor(least * 1e4) / 1e4
    lengths = [one["length"] for one in measures]
    low, high = (float(np.quantile(lengths, at)) for at in (share / 2, 1 - share / 2))
    return AlarmLimits(**chosen, shortest=round(low - 0.1, 4), longest=round(high + 0.1, 4))


def _alarms(evidence: Evidence, limits: AlarmLimits, languages: tuple[str, str]) -> Iterator[Alarm]:
    """Yield the alarms in the order of their names."""
    found = measured(evidence, languages)
    if found["repetition"] > limits.repetition:
        yield Alarm("repetition")
    if found["length"] < limits.shortest:
        yield Alarm("too short")
    if found["length"] > limits.longest:
        yield Alarm("too long")
    if found["copied"] > limits.copied:
        yield Alarm("copied")
    if numbers := lost_numbers(evidence.source, evidence.target):
        yield Alarm("number lost", shown(numbers), _places(evidence, numbers))
    if found.get("name", -math.inf) < limits.name:
        names = [name for name, use in unmatched_names(evidence, languages).items() if use < limits.name]
        if names:
            yield Alarm("name lost", shown(names), _places(evidence, names))
    if "omission" in found and found["omission"] > limits.omission:
        places = omitted(evidence)[1]
        yield Alarm("omission", shown(evidence.source[word] for word in places), tuple(places))
    alone = "detached" in found and found["detached"] > limits.detached
    if alone or ("contrast" in found and found["contrast"] < limits.contrast):
        yield Alarm("detached")


def _places(evidence: Evidence, words: Iterable[str]) -> tuple[int, ...]:
    """Return where some words of the source are in it."""
    known = set(words)
    return tuple(place for place, word in enumerate(evidence.source) if word in known)


def unmatched_names(evidence: Evidence, languages: tuple[str, str]) -> dict[str, float]:
    """Return names of the source that have nothing similar in the translation, with their use for it in nats.

    Of a name that stands there several times, it is the largest: each may be what a translation has it from.
    Without the erasure pass, which tells their use (here minus infinity), and where all nouns have capitals, only words that look
    like names in any language are judged.
    """
    every = capitalised(evidence.source)
    if capitals_say_little(languages[0]) or evidence.erased is None:
        every = [word for word in every if looks_like_a_name(word)]
    lost = unmatched(every, evidence.target)
    if evidence.erased is None:
        return dict.fromkeys(lost, -math.inf)
    use = evidence.gains
    return {word: max(float(use[place]) for place, one in enumerate(evidence.source) if one == word) for word in lost}
