"""Text documents are decoded as they say, and encoded again as they were."""

from collections.abc import Sequence

import pytest

from dragoman.documents.encoded import EncodedDocument
from dragoman.documents.plain import PlainDocument
from dragoman.documents.segments import Segment
from dragoman.errors import InputError


class Kept:
    """A document of one segment."""

    def __init__(self, text: str) -> None:
        self.segments: Sequence[Segment] = [Segment(text)]

    def text(self, translations: Sequence[Segment | None]) -> str:
        return translations[0].text if translations[0] else self.segments[0].text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a", "ế".encode()),
        (b"\xef\xbb\xbfa", b"\xef\xbb\xbf" + "ế".encode()),
        (b"\xff\xfea\x00", b"\xff\xfe" + "ế".encode("utf-16-le")),
        (b"\xfe\xff\x00a", b"\xfe\xff" + "ế".encode("utf-16-be")),
    ],
)
def test_the_encoding_and_its_mark_stay(content: bytes, expected: bytes):
    document = EncodedDocument(content, "it", Kept)
    assert [one.text for one in document.segments] == ["a"]
    assert document.written([None]) == content
    assert document.written([Segment("ế")]) == expected


def test_a_declared_encoding_writes_what_it_lacks_as_numbers():
    document = EncodedDocument(b"caf\xe9", "it", Kept, declared="cp1252")
    assert document.segments[0].text == "café"
    assert document.written([Segment("é ế")]) == b"\xe9 &#7871;"


def test_what_is_not_in_its_encoding_is_refused():
    with pytest.raises(InputError, match="it is not UTF-8; convert it first"):
        EncodedDocument(b"\xff", "it", PlainDocument)
