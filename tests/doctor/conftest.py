"""Corpora for the doctor."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dragoman.data.findings import Finding
from dragoman.data.settings import DataSettings
from dragoman.doctor.examine import examine
from dragoman.doctor.sizes import Limits
from dragoman.settings import parse

Pairs = Sequence[tuple[str, str]]
Examined = Callable[..., list[Finding]]

ENGLISH = (
    "the",
    "and",
    "with",
    "house",
    "water",
    "morning",
    "through",
    "which",
    "should",
    "nothing",
    "thought",
    "bright",
)
FRENCH = ("le", "et", "avec", "maison", "eau", "matin", "travers", "lequel", "devrait", "rien", "pensée", "brillant")


def sentences(words: Sequence[str], count: int, first: int = 0) -> list[str]:
    """Return different sentences of ten words, one for each number, with a name of its own."""
    found = []
    for number in range(first, first + count):
        chosen = [words[(number // 12**place + place) % 12] for place in range(4)]
        name = "".join("bdfgklmnprst"[number // 12**place % 12] + "aeio"[place] for place in range(4)).capitalize()
        found.append(f"{' '.join(chosen).capitalize()} {name} {' '.join(reversed(chosen))}, {words[number * 7 % 12]}.")
    return found


def good(count: int, first: int = 0) -> list[tuple[str, str]]:
    """Return different pairs without faults."""
    return list(zip(sentences(ENGLISH, count, first), sentences(FRENCH, count, first), strict=True))


@pytest.fixture
def examined(tmp_path: Path) -> Examined:
    """Return a function that examines pairs, and gives the findings but for the sizes of corpora."""

    def run(
        train: Pairs,
        dev: Pairs = (),
        languages: tuple[str, str] = ("en", "fr"),
        *,
        every: bool = False,
        limits: Limits | None = None,
    ) -> list[Finding]:
        parts = {}
        for part, pairs in (("train", train), ("dev", dev)):
            for side, language in enumerate(("one", "two")):
                text = "".join(f"{pair[side]}\n" for pair in pairs)
                (tmp_path / f"{part}.{language}").write_text(text, encoding="utf-8", newline="\n")
            parts[part] = [{"source": f"{part}.one", "target": f"{part}.two"}] if pairs else []
        table = {"source": languages[0], "target": languages[1], "root": tmp_path, **parts}
        found = examine(parse(DataSettings, table), limits=limits).findings
        sizes = ("too-little-data", "too-few-to-decide", "languages-not-identified")
        return [one for one in found if every or one.name not in sizes]

    return run
