"""Text files are translated line by line."""

from dragoman.documents.plain import PlainDocument, literal, rewritten
from dragoman.documents.segments import Segment


def test_line_ends_and_blank_lines_stay():
    document = PlainDocument("One.\r\n\r\n  two\nthree")
    assert [one.text for one in document.segments] == ["One.", "  two", "three"]
    assert document.text([Segment("A\nB"), None, Segment("C")]) == "A B\r\n\r\n  two\nC"


def test_tags_in_literal_text_are_elements_and_nothing_is_escaped():
    inline = literal("a <b>c</b> & d < e")
    assert inline.segment.text == "a c & d < e"
    assert rewritten(inline, inline.segment) == "a <b>c</b> & d < e"


def test_tabs_stay():
    found = literal("Save as\tCtrl+S")
    assert (found.segment.text, found.segment.breaks) == ("Save asCtrl+S", (7,))
    assert rewritten(found, found.segment) == "Save as\tCtrl+S"
