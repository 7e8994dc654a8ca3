"""Text in the wrong language: by its script, by the trigrams of the corpus itself, and by an identifier if it is installed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.findings import Finding
from dragoman.doctor import characters
from dragoman.doctor.check import Check, LineCheck, PairCheck, Patient, Tally
from dragoman.doctor.chunk import Chunk, Codes, Rows, Side

BUCKETS = 1 << 16
SURE = 8.0
"""Nats by which the trigrams of a line must speak for the other language; three neighbouring trigrams count as one."""
LEARN = 20_000
"""Pairs that the trigrams are learned from."""
ENOUGH = 200
"""Fewer pairs say nothing about languages."""
SOME = 20
"""More pairs than this must seem swapped, and twice as many as do not, if a corpus is said to be."""
LETTERS = 4
"""Lines with fewer letters have no language."""

WINDOW, WINDOWS = 10, 16
"""The identifier judges so many lines together, and so many such windows of each chunk."""
MANY = 40_000
"""After so many pairs, a quarter of the windows is enough."""
FEWEST = 5
"""Fewer windows of a side say nothing."""
NEIGHBOURS = {
    **{"no": ("da", "sv"), "nb": ("da", "sv"), "da": ("no", "sv"), "sv": ("da", "no"), "cs": ("sk",), "sk": ("cs",)},
    **{
        "hr": ("sr", "sl"),
        "sr": ("hr", "bg"),
        "pt": ("gl", "es"),
        "gl": ("pt", "es"),
        "es": ("pt", "ca"),
        "ca": ("es",),
    },
    **{"id": ("ms",), "ms": ("id",), "uk": ("ru", "be"), "ru": ("uk", "bg"), "bg": ("ru", "mk"), "nl": ("af", "de")},
}
"""Languages that a corpus is most easily taken for."""
COMMON = ("en", "fr", "de", "es", "ru", "zh")
"""Languages that are found in corpora of any other."""
NOT_IDENTIFIED = "languages-not-identified"
"""Name of the finding that says so."""
_REGION = re.compile("(?:[-_](?:[a-z]{2}|[0-9]{3}|han[st]))+$")


class Trigrams:
    """How much more likely each trigram of letters is on the source side than on the target side, learned from pairs."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        counts = np.zeros((2, BUCKETS))
        self.pairs = 0
        for chunk in chunks:
            self.pairs += len(chunk)
            for own, side in zip(counts, chunk.sides, strict=True):
                buckets, inside = _trigrams(side.spelled)
                own += np.bincount(buckets[inside], minlength=BUCKETS)
        shares = (counts + 0.5) / (counts.sum(1, keepdims=True) + 0.5 * BUCKETS)
        self.odds: NDArray[np.float32] = np.clip(np.log(shares[0] / shares[1]), -4, 4).astype(np.float32)
        self._last: tuple[Chunk, list[NDArray[np.float32]]] | None = None

    def turned(self) -> "Trigrams":
        """Return those of pairs in the opposite direction."""
        other = copy(self)
        other.odds, other._last = -self.odds, None
        return other

    def of(self, chunk: Chunk) -> list[NDArray[np.float32]]:
        """Return the scores of both sides, computed once for the checks that ask for those of the same chunk in turn."""
        if self._last is None or self._last[0] is not chunk:
            self._last = chunk, [self.scores(side) for side in chunk.sides]
        return self._last[1]

    def scores(self, side: Side) -> NDArray[np.float32]:
        """Return the nats by which each line speaks for the language of the source."""
        codes = side.spelled
        buckets, inside = _trigrams(codes)
        nats = np.zeros(len(codes.units), np.float32)
        nats[: len(buckets)] = self.odds[buckets] * inside
        return (np.add.reduceat(nats, codes.starts) / 3).astype(np.float32)


def _trigrams(codes: Codes) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """Return the bucket of the trigram at each place but the last two, and whether it is inside a line."""
    units = codes.units.astype(np.uint32)
    if len(units) < 3:
        return np.zeros(0, np.uint32), np.zeros(0, bool)
    mixed = units[:-2] * np.uint32(0x9E3779B1) + units[1:-1] * np.uint32(0x85EBCA6B) + units[2:] * np.uint32(0xC2B2AE35)
    inside = units != ord("\n")
    return (mixed ^ (mixed >> np.uint32(15))) >> np.uint32(16), inside[:-2] & inside[1:-1] & inside[2:]


class WrongScript(LineCheck):
    """Lines in another script than that of the language or, where it is not known, of most lines before."""

    name = "wrong-script"
    severity = "warning"
    serious = 0.005
    what = "is in another script than its side"
    advice = "see whether these lines are translations; remove those that are not"
    removes = True

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._expected = [LANGUAGE_NUMBERS.get(without_region(language)) for language in patient.languages]
        self._turn = 0

    def see(self, chunk: Chunk) -> None:
        """Look at both sides in turn."""
        self._turn = 0
        super().see(chunk)

    def rows(self, side: Side) -> Rows:
        """Find lines of which less than half of the letters are in the script."""
        found = characters.scripts()[side.codes.units]
        expected = self._expected[self._turn]
        if expected is None:
            expected = int(np.bincount(found[found > 0], minlength=1).argmax())
            self._expected[self._turn] = expected or None
        self._turn += 1
        letters, own = side.codes.counts(found > 0), side.codes.counts(found == expected)
        return np.flatnonzero((letters >= LETTERS) & (2 * own < letters))


LANGUAGE_NUMBERS = {
    language: [name for name, _ in characters.SCRIPTS].index(script) + 1
    for language, script in characters.LANGUAGE_SCRIPTS.items()
}
"""The number of the script of each language that has only one."""


class Swapped(PairCheck):
    """Pairs whose source is in the language of the target, and the reverse; an error where most are."""

    name = "swapped-sides"
    severity = "error"
    what = "has its sides swapped"
    advice = "swap the two files, columns or fields"
    removes = True

    def __init__(self, patient: Patient, trigrams: Trigrams) -> None:
        super().__init__(patient)
        self.trigrams = trigrams
        self._right = 0

    def rows(self, chunk: Chunk) -> Rows:
        """Find pairs whose trigrams speak for the other language on both sides."""
        source, target = self.trigrams.of(chunk)
        self._right += int(((source > SURE) & (target < -SURE)).sum())
        return np.flatnonzero((source < -SURE) & (target > SURE))

    def findings(self) -> Iterator[Finding]:
        """Yield an error if there are more swapped pairs than others, else a warning or a note."""
        if self.trigrams.pairs < ENOUGH or not self.tally.count:
            return
        if self.tally.count > max(2 * self._right, SOME):
            what = (
                f"has its sides swapped, compared with the training corpus: {self.tally.count:,} of {self.seen:,} pairs"
            )
            self.tally.first = None
            yield self.finding(self.tally, what=what)
        else:
            yield self.finding(self.tally, severity="warning" if self.tally.count > 0.005 * self.seen else "note")


class OtherLanguage(PairCheck):
    """Pairs with both sides in the language of one of them, which are not copies."""

    name = "other-language"
    severity = "warning"
    serious = 0.01
    what = "and its translation seem to be in the same language"
    advice = "see whether these lines were left untranslated; remove those that were"

    def __init__(self, patient: Patient, trigrams: Trigrams) -> None:
        super().__init__(patient)
        self.trigrams = trigrams

    def rows(self, chunk: Chunk) -> Rows:
        """Find pairs whose trigrams speak for the same language on both sides."""
        if self.trigrams.pairs < ENOUGH:
            return np.zeros(0, np.int64)
        source, target = self.trigrams.of(chunk)
        copied = np.zeros(len(chunk), bool)
        copied[chunk.found.get("copy", np.zeros(0, np.int64))] = True
        same = (np.minimum(source, target) > SURE) | (np.maximum(source, target) < -SURE)
        return np.flatnonzero(same & ~copied)


class Identified(Check):
    """Windows of lines that an identifier, restricted to both languages and a few others, takes for another language."""

    name = "wrong-language"
    severity = "warning"
    what = "is in another language than it should be"
    advice = "check the languages of the corpus, and that files and columns are in the right order"

    def __init__(self, patient: Patient) -> None:
        super().__init__(patient)
        self._languages = without_region(patient.languages[0]), without_region(patient.languages[1])
        self._identify = _identifier(self._languages)
        self._found: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._tallies: dict[tuple[int, str], Tally] = {}

    def see(self, chunk: Chunk) -> None:
        """Judge some windows of lines."""
        self.seen += len(chunk)
        if self._identify is None:
            return
        step = max(len(chunk) // (WINDOWS if chunk.first < MANY else WINDOWS // 4), WINDOW)
        for number, side in enumerate(chunk.sides[: 1 if self.patient.one_language else 2]):
            for start in range(0, len(chunk), step):
                lines = side.lines[start : start + WINDOW]
                if int(side.letters[start : start + WINDOW].sum()) >= 10 * LETTERS:
                    language = self._identify.classify(" ".join(lines))[0]
                    self._found[number][language] += 1
                    tally = self._tallies.setdefault((number, language), Tally())
                    tally.add(chunk, np.arange(start, start + 1), (number,))

    def findings(self) -> Iterator[Finding]:
        """Yield swapped sides as an error, other languages as warnings if a fifth of the windows has one."""
        own = self._languages
        shares = [_shares(found) for found in self._found]
        others = (own[1], own[0])
        known = own[0] != own[1] and all(found.total() >= FEWEST for found in self._found)
        if known and all(share.get(other, 0.0) > 0.8 for share, other in zip(shares, others, strict=True)):
            what = f"has its sides swapped: it looks like `{others[0]}`, and its translation like `{others[1]}`"
            swapped = Tally(self.seen, None, self._tallies[0, others[0]].examples)
            yield replace(self.finding(swapped, what=what, severity="error"), name=Swapped.name, advice=Swapped.advice)
            return
        for number, share in enumerate(shares):
            for language, part in share.items():
                if language != own[number] and part >= 0.2 and self._found[number].total() >= FEWEST:
                    what = (
                        f"looks like `{language}`, not `{own[number]}`, in {part:.0%} of its windows of {WINDOW} lines"
                    )
                    tally = self._tallies[number, language]
                    yield self.finding(Tally(tally.count, None, tally.examples), number, what=what)


def _shares(counts: Counter[str]) -> dict[str, float]:
    """Return the share of each language."""
    return {language: count / counts.total() for language, count in counts.most_common()}


def without_region(language: str) -> str:
    """Return the code of a language in small letters, without regions and the scripts of Chinese.

    >>> without_region("pt-BR"), without_region("zh_Hans_CN"), without_region("kk-Latn")
    ('pt', 'zh', 'kk-latn')
    """
    return _REGION.sub("", language.lower())


def identifier_missing() -> bool:
    """Tell whether languages cannot be identified because the package for it is not installed."""
    return find_spec("py3langid") is None


def no_room() -> bool:
    """Tell whether languages could not be identified for want of room; the model is not read only to learn that."""
    return not identifier_missing() and _model.cache_info().currsize > 0 and _model() is None


def unidentified(patients: Sequence[Patient]) -> Iterator[Finding]:
    """Yield a note about the first corpus whose languages cannot be identified here; the model is not read only to learn that."""
    what = "was compared with its own trigrams and with scripts, but not with models of languages"
    for patient in patients:
        unknown = _unknown(patient.languages)
        if identifier_missing():
            what, advice = f"{what}: py3langid is not installed", 'install it with `pip install "dragoman[check]"`'
        elif no_room():
            what = f"{what}: py3langid found no room for its temporary file"
            advice = "make room, or set TMPDIR to another folder"
        elif unknown:
            what = f"{what}: py3langid does not know {' and '.join(f'`{one}`' for one in unknown)}"
            advice = "call languages by their codes of two letters, such as `en`, in the recipe or with --from and --to"
        else:
            continue
        yield Finding(NOT_IDENTIFIED, "note", what, advice, patient.name)
        return


def _unknown(languages: Iterable[str]) -> list[str]:
    """Return the languages that the identifier does not know; none where it has not been read."""
    if not _model.cache_info().currsize or _model() is None:
        return []
    return [one for one in dict.fromkeys(languages) if without_region(one) not in _model().labels]


@cache
def _model() -> Any:
    """Read the model of all languages, which takes 97 MB; None where there is no room for the temporary file that it needs."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    with suppress(OSError):
        return LanguageIdentifier.from_model_file(MODEL_FILE)
    return None


def _identifier(languages: tuple[str, str]) -> Any:
    """Return an identifier of two languages, their neighbours and a few common ones; None if it does not know the two."""
    if identifier_missing() or _model() is None:
        return None
    identifier = copy(_model())
    if not set(languages) <= set(identifier.labels):
        return None
    near = {neighbour for language in languages for neighbour in NEIGHBOURS.get(language, ())}
    identifier.set_languages({*languages, *COMMON, *near} & set(identifier.labels))
    return identifier
