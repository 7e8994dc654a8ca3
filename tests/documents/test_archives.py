"""Zip files are read within limits, and written again with the same parts."""

import re
import zipfile

import pytest
from tests.documents.generated import zipped

from dragoman.documents import archives
from dragoman.documents.archives import entries, zipped_again
from dragoman.errors import InputError

XML = re.compile(r".*\.xml")


def test_parts_keep_their_order_names_and_compression():
    parts = entries(zipped({"b.xml": "<b/>", "a.bin": b"\x00" * 100}), "it", XML)
    parts[1][0].compress_type = zipfile.ZIP_STORED
    again = entries(zipped_again(parts, [b"<c/>", parts[1][1]]), "it", XML)
    assert [(info.filename, inside) for info, inside in again] == [("b.xml", b"<c/>"), ("a.bin", b"\x00" * 100)]
    assert [info.compress_type for info, _ in again] == [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED]


def test_what_has_too_much_in_it_is_refused(monkeypatch: pytest.MonkeyPatch):
    large = zipped({"a.xml": "<a/>", "b.bin": b"\x00" * 5000})
    assert len(entries(large, "it", XML)) == 2
    with pytest.raises(InputError, match=r"it has more than .* divide it"):
        entries(large, "it", XML, largest=5000)
    with pytest.raises(InputError, match="of text"):
        entries(large, "it", re.compile(".*"), largest=6000)
    monkeypatch.setattr(archives, "MOST_PARTS", 1)
    with pytest.raises(InputError, match="1 parts in it"):
        entries(large, "it", XML)


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"text", zipped({"a": "b"})[:-30]], ids=["empty", "two letters", "text", "cut off"]
)
def test_what_is_no_zip_file_is_refused(content: bytes):
    with pytest.raises(InputError, match="it is not a readable zip file"):
        entries(content, "it", XML)
