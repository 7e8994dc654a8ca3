"""Documents are opened by their names, in their encodings, and refused in one sentence."""

import gzip
from pathlib import Path

import pytest

from dragoman.documents import reading
from dragoman.documents.reading import Reading, check_name, open_document
from dragoman.documents.segments import Segment
from dragoman.errors import InputError


@pytest.mark.parametrize(
    "content", ["a\r\nb".encode("utf-8-sig"), "a\nb".encode("utf-16"), b"\xfe\xff\x00a\x00\n", b""]
)
def test_encodings_survive(tmp_path: Path, content: bytes):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    document = open_document(path)
    assert document.written([None] * len(document.segments)) == content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'<meta charset="iso-8859-1"><p>caf&eacute;', b'<meta charset="iso-8859-1"><p>CAF\xc9 &#7871;'),
        (b"<meta charset=windows-1252><p>caf\xe9", b"<meta charset=windows-1252><p>CAF\xc9 &#7871;"),
        (b'<?xml version="1.0" encoding="latin1"?><p>a', b'<?xml version="1.0" encoding="latin1"?><p>A &#7871;'),
        ('<meta charset="iso-8859-1"><p>é'.encode(), '<meta charset="iso-8859-1"><p>É ế'.encode()),
        (b'<meta charset="UTF-8"><p>a', '<meta charset="UTF-8"><p>A ế'.encode()),
        (b'<meta charset="undefined"><p>a', '<meta charset="undefined"><p>A ế'.encode()),
        (b"<meta charset=unicode_escape><p>\\x41", "<meta charset=unicode_escape><p>\\X41 ế".encode()),
        (b"<meta content='set charset=big5'><p>a", "<meta content='set charset=big5'><p>A ế".encode()),
        (b"<!--<meta charset=big5>--><p>a", "<!--<meta charset=big5>--><p>A ế".encode()),
        (
            b"<meta http-equiv=Content-Type content='text/html; charset=gb2312'><p>\x81\x40",
            b"<meta http-equiv=Content-Type content='text/html; charset=gb2312'><p>\x81\x40 &#7871;",
        ),
    ],
)
def test_a_page_is_written_as_it_says(tmp_path: Path, content: bytes, expected: bytes):
    path = tmp_path / "a.html"
    path.write_bytes(content)
    document = open_document(path)
    (own,) = document.segments
    assert document.written([None]) == content
    assert document.written([Segment(f"{own.text.upper()} ế")]) == expected


@pytest.mark.parametrize("name", ["a.sdlxliff", "a.mqxliff", "a.MXLIFF", "a.txlf"])
def test_xliff_of_well_known_programs_is_known_by_its_name(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_text('<xliff version="1.2"><file><trans-unit><source>cat</source></trans-unit></file></xliff>')
    assert [one.text for one in open_document(path).segments] == ["cat"]
    check_name(tmp_path / f"b{path.suffix}", path)


def test_compressed_documents_are_compressed_again(tmp_path: Path):
    path = tmp_path / "a.md.gz"
    path.write_bytes(gzip.compress(b"one\n", mtime=0))
    assert gzip.decompress(open_document(path, Reading("txt")).written([Segment("two")])) == b"two\n"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.pdf", b"", "--format"),
        ("a.txt", b"\xe9", "not UTF-8"),
        ("a.csv", b"a", "--column"),
        ("a.txt.gz", b"abc", "not a gzip"),
        ("a.txt.gz", gzip.compress(b"a", mtime=0)[:-3], "incomplete"),
        ("a.docx", b"a", "zip"),
        ("a.xlf", b"<a", "well-formed"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: bytes, words: str):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        open_document(path)


def test_more_than_fits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "LARGEST", 100)
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a" * 1000))
    with pytest.raises(InputError, match="copy it again"):
        open_document(path)
    with pytest.raises(InputError, match="exists"):
        open_document(tmp_path / "none.txt")
    path.write_bytes(gzip.compress(b"a", mtime=0))
    with pytest.raises(InputError, match="for tables"):
        open_document(path, Reading(column="a"))


@pytest.mark.parametrize(
    ("output", "name", "ending"),
    [
        ("a.html", "a.md", "\\.md"),
        ("b.txt", "a.txt.gz", "\\.txt\\.gz"),
        ("b.txt.gz", "a.txt", "\\.txt"),
        ("b.md", "a.b.srt", "\\.srt"),
    ],
)
def test_a_translation_is_not_named_as_another_format(output: str, name: str, ending: str):
    with pytest.raises(
        InputError, match=rf"{output} does not end as {name} does; name it so that it ends in {ending}$"
    ):
        check_name(Path(output), Path(name))


def test_other_names_of_the_format_and_unknown_ones_are_taken():
    for output, name in (("b.markdown", "a.md"), ("b.vi", "a.txt"), ("b.GZ", "a.txt.gz"), ("b.XLF", "a.xliff")):
        check_name(Path(output), Path(name))
    check_name(Path("b.md"), Path("a.inc"), Reading("txt"))
