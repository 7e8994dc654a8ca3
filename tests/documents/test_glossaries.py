"""Glossaries of TSV, CSV and TBX; what is wrong with one is said with its file and line."""

from pathlib import Path

import pytest

from dragoman.documents.glossaries import LARGEST, read_glossary
from dragoman.errors import InputError

TBX = """<?xml version="1.0"?>
<martif type="TBX"><text><body>
<termEntry id="1">
 <langSet xml:lang="en-GB"><tig><term>court &amp; jury</term></tig><tig><term>court</term></tig></langSet>
 <langSet xml:lang="vi"><ntig><termGrp><term>tòa <hi>án</hi></term></termGrp></ntig><tig><term>toà</term></tig></langSet>
</termEntry>
<termEntry id="2"><langSet xml:lang="en"><tig><term>alone</term></tig></langSet></termEntry>
</body></text></martif>
"""
SECOND = """<tbx><text><body><conceptEntry id="1">
<langSec xml:lang="en"><termSec><term>cat</term></termSec></langSec>
<langSec xml:lang="vi"><termSec><term>mèo</term></termSec></langSec>
</conceptEntry></body></text></tbx>"""


def read(folder: Path, name: str, text: str | bytes, *languages: str | None) -> dict[str, list[str]]:
    """Write and read a glossary."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    between = (languages[0], languages[1]) if languages else (None, None)
    return {one.source.text: [term.text for term in one.targets] for one in read_glossary(path, between).entries}


def test_a_line_is_a_term_and_its_translations(tmp_path: Path):
    text = "\ufeffcat\tmèo | miu\r\n\r\nDragoman\nOCR | ICR\tOCR | ICR\n"
    expected = {"cat": ["mèo", "miu"], "Dragoman": ["Dragoman"], "OCR | ICR": ["OCR | ICR"]}
    assert read(tmp_path, "a.tsv", text) == expected
    assert read(tmp_path, "a.txt", text.lstrip("\ufeff").encode("utf-16")) == expected


def test_a_csv_file_may_have_the_columns_of_deepl(tmp_path: Path):
    assert read(tmp_path, "a.csv", '"a, ""b""",c|d,en,vi\nword\n') == {'a, "b"': ["c", "d"], "word": ["word"]}


def test_a_csv_file_may_have_semicolons(tmp_path: Path):
    assert read(tmp_path, "a.csv", "cat;mèo\nhouse;nhà|ngôi nhà\n") == {"cat": ["mèo"], "house": ["nhà", "ngôi nhà"]}
    assert read(tmp_path, "a.csv", "a;b,c\nword\n") == {"a;b": ["c"], "word": ["word"]}
    assert read(tmp_path, "a.csv", '"cat; dog";"mèo"\nword\n') == {"cat; dog": ["mèo"], "word": ["word"]}
    assert read(tmp_path, "a.csv", "Hello, world;Xin chào\ncat;mèo\n") == {"Hello, world": ["Xin chào"], "cat": ["mèo"]}


def test_a_tbx_file_has_concepts_in_languages(tmp_path: Path):
    both = ["tòa án", "toà"]
    assert read(tmp_path, "a.tbx", TBX, "en", "vi") == {"court & jury": both, "court": both}
    assert read(tmp_path, "a.tbx", TBX, "vi_VN", "en") == {one: ["court & jury", "court"] for one in both}
    assert read(tmp_path, "b.tbx", SECOND, "en", "vi") == {"cat": ["mèo"]}
    assert read(tmp_path, "b.tbx", SECOND, "eng_Latn", "vie_Latn") == {"cat": ["mèo"]}


@pytest.mark.parametrize("note", ['termNote type="administrativeStatus"', "basic:administrativeStatus"])
def test_of_a_tbx_file_a_preferred_term_is_the_first_and_a_deprecated_one_is_none(tmp_path: Path, note: str):
    terms = [
        ("miu", ""),
        ("mào", "deprecatedTerm-admn-sts"),
        ("mãi", "supersededTerm-admn-sts"),
        ("mèo", "preferredTerm"),
    ]
    written = "".join(
        f"<termSec><term>{term}</term><{note}>{status}</{note.split()[0]}></termSec>" for term, status in terms
    )
    text = SECOND.replace("<termSec><term>mèo</term></termSec>", written)
    assert read(tmp_path, "a.tbx", text, "en", "vi") == {"cat": ["mèo", "miu"]}
    assert list(read(tmp_path, "a.tbx", text, "vi", "en")) == ["miu", "mào", "mãi", "mèo"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.tsv", "a\tb\n\tc", ["a.tsv, line 2", "empty term"]),
        ("a.tsv", "a\tb||c", ["line 1", "empty"]),
        ("a.tsv", "a\tb\tc", ["line 1", "second tab"]),
        ("a.tsv", "a\tb\n\nb\nb\tc", ["line 4", "line 3", "`b`"]),
        ("a.tsv", "\n", ["a.tsv", "no terms"]),
        ("a.csv", '"a', ["a.csv", "CSV"]),
        ("a.csv", "a,b\n,x", ["line 2"]),
        ("a.tsv", b"\xff", ["UTF-8"]),
        ("a.tbx", "<a>", ["a.tbx", "well-formed"]),
        ("a.tbx", TBX, ["--from"]),
        ("a.xls", "", ["a.xls", ".tsv"]),
    ],
)
def test_what_is_no_glossary_is_refused(tmp_path: Path, name: str, text: str | bytes, words: list[str]):
    with pytest.raises(InputError) as caught:
        read(tmp_path, name, text)
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_tbx_file_without_a_language_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"a\.tbx has no concept .*`fr`"):
        read(tmp_path, "a.tbx", TBX, "en", "fr")


def test_a_glossary_that_cannot_be_read_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"none\.tsv cannot be read"):
        read_glossary(tmp_path / "none.tsv")
    with (tmp_path / "large.tsv").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(InputError, match=r"large\.tsv is larger"):
        read_glossary(tmp_path / "large.tsv")
