"""What surrounds the ids of a text in a sentence: a language tag, the language codes of other toolkits, a prefix of words.

Dragoman's own models read the tag of their target language before a source (`text/tags.py`). Imported ones may read the code of
the source language (M2M100, NLLB, mBART-50), that of the target (Marian's `>>fra<<`) or a prefix of ordinary tokens (T5), and
may begin a target with the code of its language. Each of these is a `Frame`, which depends on both languages (`Between`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

from dragoman.errors import TextError


class Between(NamedTuple):
    """The languages of a source and its target; None for one that is not known."""

    source: str | None = None
    target: str | None = None

    def swapped(self) -> "Between":
        """Return the opposite direction."""
        return Between(self.target, self.source)


class Frame(NamedTuple):
    """The ids before and after those of a text. `after` begins with the EOS that ends the text, if there is anything."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    def around(self, ids: Sequence[int]) -> list[int]:
        """Put the frame around the ids of a text.

        >>> Frame((7,), (2, 9)).around([4, 5])
        [7, 4, 5, 2, 9]
        """
        return [*self.before, *ids, *self.after]

    def inside(self, ids: Sequence[int]) -> list[int]:
        """Return the ids of the text that the frame is around.

        >>> Frame((7,), (2, 9)).inside([7, 4, 5, 2, 9])
        [4, 5]
        """
        return list(ids[len(self.before) : len(ids) - len(self.after)])


@dataclass(frozen=True)
class Frames:
    """The frames of one side, each for a source language, a target language, or both; no rule at all means no frames."""

    rules: Mapping[Between, Frame] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def of(self, between: Between | None) -> Frame:
        """Return the frame for a direction. Raises TextError for languages that none is for.

        >>> Frames({Between(source="en"): Frame((7,))}).of(Between("en", "fr"))
        Frame(before=(7,), after=())
        """
        if not self.rules:
            return Frame()
        given = between or Between()
        for rule in (given, Between(source=given.source), Between(target=given.target)):
            if rule in self.rules and rule != Between():
                return self.rules[rule]
        raise TextError(self._refusal(given))

    def around(self, ids: Sequence[int]) -> Frame:
        """Return the frame that ids already have, the longest if several fit."""
        fitting = (frame for frame in self._distinct() if _fits(frame, ids))
        return max(fitting, key=lambda frame: len(frame.before) + len(frame.after), default=Frame())

    def languages(self, side: str) -> tuple[str, ...]:
        """Return the languages that rules name on one side, `source` or `target`."""
        return tuple(dict.fromkeys(language for rule in self.rules if (language := getattr(rule, side)) is not None))

    def table(self) -> list[list[object]]:
        """Return all rules, ready for JSON."""
        return [[*rule, list(frame.before), list(frame.after)] for rule, frame in self.rules.items()]

    @classmethod
    def read(cls, table: Sequence[Sequence[object]]) -> "Frames":
        """Read what `table` returned. Raises TypeError or ValueError if it is something else."""
        return cls({Between(_name(s), _name(t)): Frame(_ids(b), _ids(a)) for s, t, b, a in table})

    def _distinct(self) -> Iterator[Frame]:
        """Yield each frame once."""
        yield from dict.fromkeys(self.rules.values())

    def _refusal(self, given: Between) -> str:
        """Return what is wrong with a direction that no rule is for, and what to do."""
        if any(None not in rule for rule in self.rules):
            known = shortened(["-".join(map(str, rule)) for rule in self.rules])
            return f"this model does not translate from `{given.source}` to `{given.target}`; it knows {known}"
        side = "source" if any(rule.source is not None for rule in self.rules) else "target"
        language, known_languages = getattr(given, side), self.languages(side)
        if language is None:
            return f"the language of the {side} must be known here; name one of {shortened(known_languages)}"
        return f"this model has no {side} language `{language}`{near(language, known_languages)}"


def near(language: str, known: Sequence[str]) -> str:
    """Return the hint which known language may be meant: one that begins so, or is spelled alike.

    >>> near("fr", ["eng_Latn", "fra_Latn"]), near("en_XY", ["en_XX", "vi_VN"])
    ('; did you mean `fra_Latn`?', '; did you mean `en_XX`?')
    """
    start = language.strip("_").casefold()[:2]
    begins = [one for one in known if one.casefold().startswith(start)]
    if len(begins) == 1:
        return f"; did you mean `{begins[0]}`?"
    if begins:
        return f"; did you mean {' or '.join(f'`{one}`' for one in begins[:3])}?"
    alike = get_close_matches(language, known, n=1)
    return f"; did you mean `{alike[0]}`?" if alike else f"; it knows {shortened(known)}"


LISTED = 12
"""Languages that a message lists in full."""


def shortened(languages: Sequence[str]) -> str:
    """List languages, of many only the first.

    >>> shortened(["de", "en"])
    'de, en'
    """
    rest = len(languages) - LISTED
    listed = ", ".join(languages[:LISTED])
    return f"{listed} and {rest} others" if rest > 0 else listed


def _fits(frame: Frame, ids: Sequence[int]) -> bool:
    """Tell whether ids have a frame around them."""
    before, after = len(frame.before), len(frame.after)
    return (
        len(ids) >= before + after
        and tuple(ids[:before]) == frame.before
        and tuple(ids[len(ids) - after :]) == frame.after
    )


def _name(value: object) -> str | None:
    """Return the name of a language, or None."""
    if value is not None and not isinstance(value, str):
        raise TypeError("language")
    return value


def _ids(value: object) -> tuple[int, ...]:
    """Return a list of ids."""
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise TypeError("ids")
    return tuple(value)
