"""What looks like a mistake in a corpus."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.data.settings import DataSettings
from dragoman.data.store import build_store
from dragoman.settings import parse
from dragoman.text import Codec

SENTENCES = [f"the cat sat on {chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(200)]


def rows(source: list[str], target: list[str]) -> str:
    """Write two columns."""
    return "".join(f"{one}\t{other}\n" for one, other in zip(source, target, strict=True))


GOOD = rows(SENTENCES, [sentence[::-1] for sentence in SENTENCES])


@pytest.fixture
def warn(tmp_path: Path, codecs: tuple[Codec, Codec]) -> Any:
    """Return a function that encodes a table with these settings and returns the warnings."""

    def read(text: str, languages: tuple[str, str] = ("en", "ne"), filters: Any = None, **corpus: Any) -> list[str]:
        (tmp_path / "a.tsv").write_text(text, encoding="utf-8")
        corpora = [{"tsv": "a.tsv", **corpus}]
        table = {"root": tmp_path, "train": corpora, "dev": corpora, "filters": filters or {}}
        data = parse(DataSettings, {"source": languages[0], "target": languages[1], **table})
        summary = build_store(tmp_path / "cache", data, data.train, codecs=codecs)[1]
        assert build_store(tmp_path / "cache", data, data.train, codecs=codecs)[1] == summary
        return summary.warnings

    return read


def test_a_good_corpus_has_no_warnings(warn: Any) -> None:
    assert warn(GOOD) == []


@pytest.mark.parametrize("header", ["source\ttarget", "en\tne", '"English"\t"Vietnamese"'])
def test_a_header_is_named(header: str, warn: Any) -> None:
    (warning,) = warn(f"{header}\n{GOOD}")
    assert "a.tsv, line 1 looks like the names of columns" in warning


def test_the_same_column_on_both_sides_is_named(warn: Any) -> None:
    (warning,) = warn(GOOD, columns=[1, 1])
    assert "both sides are the same in 200 of the first 200 pairs of a.tsv; check" in warning
    assert warn(GOOD, languages=("en", "en"), columns=[1, 1]) == []


def test_a_column_of_numbers_is_named(warn: Any) -> None:
    (warning,) = warn(rows(SENTENCES, [str(n) for n in range(200)]))
    assert "the target side of 200 of the first 200 pairs of a.tsv has no letters; check which column" in warning


def test_a_column_of_categories_is_named(warn: Any) -> None:
    (warning,) = warn(rows(["news" if n % 3 else "talks" for n in range(200)], SENTENCES))
    assert "the source side of the first 200 pairs of a.tsv is one of only 2 texts, such as 'news'" in warning


def test_quotation_marks_of_spreadsheets_are_named(warn: Any) -> None:
    (warning,) = warn(rows(SENTENCES, [f'"{sentence[::-1]}"' for sentence in SENTENCES]))
    assert "the target side of 200 of the first 200 pairs of a.tsv is in quotation marks" in warning


def test_a_filter_that_drops_most_pairs_is_named(warn: Any) -> None:
    (warning,) = warn(f"a\tb\n{GOOD}", filters={"max_words": 1})
    assert "200 of the 201 pairs of a.tsv are dropped, 200 of them with more than 1 words" in warning
    assert "`data.filters`" in warning


def test_the_same_text_in_two_files_is_named(tmp_path: Path, codecs: tuple[Codec, Codec]) -> None:
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text(GOOD, encoding="utf-8")
    first = {"tsv": "a.tsv", "hold_out": {"keep": "rest"}}
    corpora = [
        first,
        {"tsv": "a.tsv", "hold_out": {"keep": "held"}},
        {"tsv": "b.tsv", "columns": [1, 0]},
        {"tsv": "a.tsv"},
    ]
    table = {"source": "en", "target": "ne", "root": tmp_path, "train": corpora, "dev": corpora}
    data = parse(DataSettings, table)
    assert build_store(tmp_path / "cache", data, data.train, codecs=codecs)[1].warnings == []
    data = parse(DataSettings, {**table, "train": [*corpora, {"tsv": "b.tsv", "repeat": 3}]})
    (warning,) = build_store(tmp_path / "cache", data, data.train, codecs=codecs)[1].warnings
    assert "b.tsv contains the same pairs as a.tsv" in warning
