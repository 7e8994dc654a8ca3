"""Which of the served languages a text is in, or that it is in none of them, by py3langid, which needs no network."""

from collections.abc import Collection, Sequence
from importlib.util import find_spec
from threading import Lock
from typing import Any

from dragoman.iso639 import base_code
from dragoman.serving.interface import Detection, ServiceError
from dragoman.serving.languages import same_language

LONGEST = 2000
"""So many characters of a text are looked at."""
SURE = 0.9
"""Confidence from which a text is not taken to be in any other language."""
EXPECTED = 0.5
"""How probable it is, before one looks at a text, that it is in one of the source languages; they share it equally, and all
others the rest. So a word or a name is seldom taken for a language that nobody sends here, and most sentences in one are."""
NO_LANGUAGE = "zxx"
"""Label of py3langid for what is no language, such as code."""


def fitting(likely: Sequence[Detection], wanted: Collection[str]) -> list[Detection]:
    """Return those of the detected languages that are wanted, likeliest first; none if the text is surely in another.

    >>> fitting([Detection("fr", 0.6), Detection("en", 0.4)], {"en"})
    [Detection(language='en', confidence=0.4)]
    >>> fitting([Detection("fr", 0.99), Detection("en", 0.01)], {"en"})
    []
    """
    found = [one for one in likely if one.language in wanted]
    return [] if found and likely[0] != found[0] and likely[0].confidence >= SURE else found


class Detector:
    """Detects languages, of which those of the sources are expected. The model is read at the first text; threads may share a
    detector.
    """

    def __init__(self, sources: Sequence[str], targets: Sequence[str] = ()) -> None:
        self.sources = tuple(sources)
        self.targets = tuple(targets)
        self._reading = Lock()
        self._identifier: Any = None
        self._codes: dict[str, str] = {}
        """The languages served, by the labels of the identifier."""
        self._expected: dict[str, float] = {}
        """How probable each language is before one looks at a text, by labels; empty until the identifier is read."""

    def detect(self, text: str) -> list[Detection]:
        """Return the languages served that a text may be in, likeliest first, and before them another one if it is likelier; none
        for a text without letters.

        A single source language is taken for granted where py3langid is not installed or does not know it; several are not
        (ServiceError).
        """
        looked_at = text[:LONGEST]
        if not any(map(str.isalpha, looked_at)):
            return []
        with self._reading:
            if not self._expected:
                self._read()
        if self._identifier is None:
            return [Detection(self.sources[0], 1.0)]
        shares = {code: float(share) * self._expected[code] for code, share in self._identifier.rank(looked_at)}
        whole = sum(shares.values())
        ranked = sorted(shares, key=lambda code: -shares[code])
        shown = [code for code in ranked if code in self._codes or code == ranked[0]]
        return [Detection(self._codes.get(code, code), round(shares[code] / whole, 4)) for code in shown]

    def _read(self) -> None:
        """Read the identifier, unless there is a single source language that is not told from others.

        Where it does not know all source languages, it is limited to those that it knows: a text in one of the others may look
        as if it were in any language.
        """
        several = len(self.sources) > 1
        if find_spec("py3langid") is None:
            if several:
                raise ServiceError(
                    "languages cannot be detected: py3langid is not installed; name the source language, or `pip install "
                    '"dragoman[serve]"`'
                )
            self._expected = {self.sources[0]: 1.0}
            return
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        labels = set(identifier.labels) - {NO_LANGUAGE}
        sources = [_label(one, labels) for one in self.sources]
        known = set(filter(None, sources))
        if not known:
            if several:
                raise ServiceError("none of the source languages can be detected; name the source language")
            self._expected = {self.sources[0]: 1.0}
            return
        labels = known if None in sources else labels
        for language in (*self.sources, *self.targets):
            if (code := _label(language, labels)) is not None:
                self._codes.setdefault(code, language)
        others = labels - known
        self._expected = dict.fromkeys(others, (1 - EXPECTED) / max(1, len(others)))
        self._expected |= dict.fromkeys(known, EXPECTED / len(known))
        identifier.set_languages(sorted(labels))
        self._identifier = identifier


def _label(language: str, labels: Collection[str]) -> str | None:
    """Return the label that the identifier has for a language; None if it does not know it."""
    names = same_language(language.lower().replace("_", "-"))
    return next((one for name in names if (one := base_code(name)) in labels), None)
