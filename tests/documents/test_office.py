"""Office files are opened, translated paragraph by paragraph, and all other parts are copied."""

import io
import zipfile

import pytest
from tests.documents.generated import zipped

from dragoman.documents import archives
from dragoman.documents.office import OfficeDocument
from dragoman.documents.segments import Segment
from dragoman.errors import InputError

INNER = "<w:r><w:txbxContent><w:p><w:r><w:t>Inner</w:t></w:r></w:p></w:txbxContent></w:r>"
WORD = f'<w:document xmlns:w="w"><w:p>{INNER}<w:r><w:t>Outer</w:t></w:r></w:p></w:document>'


def read(content: bytes, name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name).decode()


def test_paragraphs_inside_paragraphs_are_translated_too():
    document = OfficeDocument(zipped({"word/document.xml": WORD, "word/x.xml": "<a>"}), "docx", "it")
    assert [one.text for one in document.segments] == ["Outer", "Inner"]
    written = document.written([Segment(one.text.upper(), one.spans) for one in document.segments])
    text = read(written, "word/document.xml")
    assert text.index("INNER") < text.index("OUTER")
    assert read(written, "word/x.xml") == "<a>"


def test_headers_and_notes_are_translated_too():
    parts = {f"word/{name}.xml": WORD for name in ("document", "header1", "footnotes")}
    assert len(OfficeDocument(zipped(parts), "docx", "it").segments) == 6


@pytest.mark.parametrize(
    ("kind", "main", "folder"), [("docx", "word/document", "word"), ("pptx", "ppt/slides/slide1", "ppt")]
)
def test_diagrams_and_titles_of_charts_are_translated_too(kind: str, main: str, folder: str):
    names = ("charts/chart1", "diagrams/data1", "diagrams/drawing1", "diagrams/layout1", "charts/style1")
    drawn = '<c:rich xmlns:c="c" xmlns:a="a"><a:p><a:r><a:t>Sales</a:t></a:r></a:p><c:v>1</c:v></c:rich>'
    parts = {f"{main}.xml": WORD, **{f"{folder}/{name}.xml": drawn for name in names}}
    document = OfficeDocument(zipped(parts), kind, "it")
    assert [one.text for one in document.segments].count("Sales") == 3
    written = document.written([Segment(one.text.upper(), one.spans) for one in document.segments])
    for name in names:
        changed = name not in ("diagrams/layout1", "charts/style1")
        assert read(written, f"{folder}/{name}.xml") == (drawn.replace("Sales", "SALES") if changed else drawn)


def test_what_was_deleted_from_a_document_is_no_part_of_it():
    gone = "<text:tracked-changes><text:deletion><text:p>Old</text:p></text:deletion></text:tracked-changes>"
    text = f'<office:text>{gone}<text:p>New <text:change text:change-id="1"/>text</text:p></office:text>'
    document = OfficeDocument(zipped({"content.xml": text}), "odt", "it")
    assert [one.text for one in document.segments] == ["New text"]


def test_the_main_text_may_have_another_number():
    assert len(OfficeDocument(zipped({"word/document2.xml": WORD}), "docx", "it").segments) == 2


def test_files_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(InputError, match="not a readable zip"):
        OfficeDocument(b"PK", "docx", "it")
    with pytest.raises(InputError, match=r"name it by its format.*--format"):
        OfficeDocument(zipped({"a": "b"}), "docx", "it")
    monkeypatch.setattr(archives, "LARGEST", 1000)
    with pytest.raises(InputError, match="MiB"):
        OfficeDocument(zipped({"word/document.xml": "a" * 1001}), "docx", "it")
    with pytest.raises(InputError, match="of text"):
        OfficeDocument(zipped({"word/document.xml": "a" * 251, "a": "b" * 500}), "docx", "it")
    with pytest.raises(InputError, match="MiB"):
        OfficeDocument(zipped({"word/document.xml": WORD, "a": "b" * 501}), "docx", "it", largest=500)
    monkeypatch.setattr(archives, "TEXT", 1)
    assert OfficeDocument(zipped({"word/document.xml": WORD}), "docx", "it", largest=2 * len(WORD)).segments


def test_other_prefixes_are_refused_rather_than_overlooked():
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    both = f'<w:document xmlns:x="{space}" xmlns:w="{space}"><w:p/></w:document>'
    OfficeDocument(zipped({"word/document.xml": both}), "docx", "it")
    for part in (
        f'<ns0:document xmlns:ns0="{space}"><ns0:p/></ns0:document>',
        f'<document xmlns="{space}"><p/></document>',
    ):
        with pytest.raises(InputError, match=r"paragraphs `(ns0:)?p`, and not `w:p` .* save it again"):
            OfficeDocument(zipped({"word/document.xml": part}), "docx", "it")


def test_slides_notes_and_master_pages_of_opendocument_are_translated():
    space = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.presentation",
        "content.xml": f"<o {space}><draw:page><text:p>Slide <text:page-number>2</text:page-number></text:p>"
        "<presentation:notes><text:p>Note</text:p></presentation:notes></draw:page></o>",
        "styles.xml": f"<o {space}><style:master-page><text:p>Always</text:p></style:master-page></o>",
    }
    document = OfficeDocument(zipped(parts), "odp", "it")
    assert [one.text for one in document.segments] == ["Slide ", "Note", "Always"]
    written = document.written([Segment("Trang ", document.segments[0].spans), None, None])
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        changed = parts["content.xml"].replace("Slide", "Trang")
        assert {one: archive.read(one).decode() for one in archive.namelist()} == {**parts, "content.xml": changed}
