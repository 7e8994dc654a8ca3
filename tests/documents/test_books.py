"""EPUB books: pages, contents, title and language are translated, all other parts are copied."""

import io
import zipfile

import pytest
from tests.documents.generated import zipped

from dragoman.documents.books import BookDocument
from dragoman.documents.segments import Segment
from dragoman.errors import InputError

NCX = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "x.dtd">\n'
    "<ncx><docTitle><text>Short tales</text></docTitle><navPoint><navLabel><text>One</text></navLabel></navPoint></ncx>"
)
OPF = (
    "<package><metadata><dc:title>Short tales</dc:title><dc:creator>A. Writer</dc:creator><dc:language>en-GB</dc:language>"
    "</metadata></package>"
)
PAGE = '<?xml version="1.0" encoding="utf-8"?>\n<html lang="en" xml:lang="en"><title>One</title><p>A <i>cat</i>.<br/></p></html>'
PARTS = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": "<container/>",
    "OEBPS/content.opf": OPF,
    "OEBPS/toc.ncx": NCX,
    "OEBPS/text/1.xhtml": PAGE,
    "OEBPS/2.html": "<p>&nbsp;</p>",
    "OEBPS/a.css": "p {}",
}


def parts(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_pages_contents_title_and_language_are_translated():
    document = BookDocument(zipped(PARTS), "it", "vi")
    assert [one.text for one in document.segments] == ["Short tales", "Short tales", "One", "One", "A cat."]
    written = parts(document.written([Segment(one.text.upper(), one.spans) for one in document.segments]))
    assert written == {
        **PARTS,
        "OEBPS/content.opf": OPF.replace("Short tales", "SHORT TALES").replace("en-GB", "vi"),
        "OEBPS/toc.ncx": NCX.replace("Short tales", "SHORT TALES").replace("One", "ONE"),
        "OEBPS/text/1.xhtml": PAGE.replace("One", "ONE")
        .replace("A <i>cat</i>", "A <i>CAT</i>")
        .replace('lang="en"', 'lang="vi"'),
    }
    assert next(iter(written)) == "mimetype"


def test_a_book_names_its_language_also_where_its_title_stays():
    document = BookDocument(zipped(PARTS), "it", "vi")
    written = parts(document.written([None, None, None, None, Segment("Con mèo.", document.segments[4].spans)]))
    assert written["OEBPS/content.opf"] == OPF.replace("en-GB", "vi") and written["OEBPS/toc.ncx"] == NCX


def test_a_book_without_translations_stays_as_it_is():
    content = zipped(PARTS)
    assert parts(BookDocument(content, "it", "vi").written([None] * 5)) == PARTS


def test_what_is_no_book_is_refused():
    with pytest.raises(InputError, match=r"it has no page of an \.epub file in it"):
        BookDocument(zipped({"word/document.xml": "<a/>"}), "it")
    with pytest.raises(InputError, match=r"it: a\.html is not UTF-8"):
        BookDocument(zipped({"a.html": b"\xff"}), "it")
    with pytest.raises(InputError, match="it has more than 9 tags in it"):
        BookDocument(zipped(PARTS), "it", most_tags=9)
