"""Which of the served languages a text is in, by py3langid, which needs no network."""

from collections.abc import Collection, Sequence
from importlib.util import find_spec
from threading import Lock
from typing import Any

from dragoman.serving.interface import Detection, ServiceError
from dragoman.serving.languages import THREE_LETTERS, same_language

LONGEST = 2000
"""So many characters of a text are looked at."""
SURE = 0.9
"""Confidence from which a text is not taken to be in any other language."""


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
    """Detects some languages. The model is read at the first text; threads may share a detector."""

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)
        self._reading = Lock()
        self._identifier: Any = None
        self._codes: dict[str, str] = {}

    def detect(self, text: str) -> list[Detection]:
        """Return the languages that a text may be in, likeliest first; none for a text without letters.

        A single language needs no looking. ServiceError if py3langid is needed and not installed.
        """
        looked_at = text[:LONGEST]
        if not any(map(str.isalpha, looked_at)):
            return []
        if len(self.languages) == 1:
            return [Detection(self.languages[0], 1.0)]
        with self._reading:
            if self._identifier is None:
                self._identifier = self._read()
        ranked = self._identifier.rank(looked_at)
        return [Detection(self._codes[code], round(float(share), 4)) for code, share in ranked if code in self._codes]

    def _read(self) -> Any:
        """Read the identifier, limited to the languages that it knows."""
        if find_spec("py3langid") is None:
            raise ServiceError(
                "languages cannot be detected: py3langid is not installed; name the source language, or `pip install "
                '"dragoman[serve]"`'
            )
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        known = set(identifier.labels)
        for language in self.languages:
            bases = [name.split("-")[0] for name in same_language(language.lower().replace("_", "-"))]
            code = next((one for base in bases if (one := THREE_LETTERS.get(base, base)) in known), None)
            if code is not None:
                self._codes.setdefault(code, language)
        if not self._codes:
            raise ServiceError("none of the source languages can be detected; name the source language")
        identifier.set_languages(list(self._codes))
        return identifier
