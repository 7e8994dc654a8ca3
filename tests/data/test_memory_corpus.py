"""Translation memories in TMX are corpora."""

import gzip
from pathlib import Path

import pytest

from dragoman.data.corpus import Pair, read_pairs
from dragoman.data.settings import DataSettings
from dragoman.errors import CorpusError
from dragoman.settings import parse

UNITS = """<tmx><body>
<tu><tuv xml:lang="fr-FR"><seg>un <ph>x</ph></seg></tuv><tuv xml:lang="en-US"><seg>one</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>two</seg></tuv><tuv xml:lang="de"><seg>zwei</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>three</seg></tuv><tuv xml:lang="fr"><seg></seg></tuv></tu>
</body></tmx>"""


def read(path: Path, source: str = "en", target: str = "fr") -> list[Pair]:
    """Read a translation memory."""
    data = parse(DataSettings, {"source": source, "target": target, "train": [{"tmx": path}], "dev": [{"tmx": path}]})
    return list(read_pairs(data.train[0], data))


def test_units_with_both_languages_are_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx.gz"
    path.write_bytes(gzip.compress(UNITS.encode()))
    assert read(path) == [Pair("one", "un", f"{path}, line 2"), Pair("three", "", f"{path}, line 4")]
    assert read(path, "de", "en") == [Pair("zwei", "two", f"{path}, line 3")]


def test_languages_that_no_unit_has_are_refused_with_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(UNITS, encoding="utf-8")
    with pytest.raises(
        CorpusError, match=r"no unit with both `de` and `it` \(its languages are `fr-fr`, `en-us`, `en`, `de`,"
    ):
        read(path, "de", "it")


def test_what_cannot_be_read_is_refused_with_its_path_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text(UNITS.removesuffix("</body></tmx>"), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"a\.tmx is not well-formed XML \(line 5: no element found\); save it again"):
        read(path)
    with pytest.raises(CorpusError, match=r"there is no file .*b\.tmx"):
        read(tmp_path / "b.tmx")
