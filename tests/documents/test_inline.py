"""Pieces become text and elements, and pieces again."""

from dragoman.documents.inline import Piece, gather, written


def pieces(text: str) -> list[Piece]:
    kinds = {"(": "open", ")": "close", "[": "open", "]": "close", "|": "alone", "/": "break"}
    keys = {"(": 1, ")": 1, "[": 2, "]": 2}
    return [Piece(kinds.get(one, "text"), one, keys.get(one)) for one in text]  # type: ignore[arg-type]


def test_what_is_gathered_is_written_as_it_was():
    for text in ("a(b[c]|d)e", "((a)[])|", "a)b(c", "(a[b)c]", "x/y", ""):
        found = gather(pieces(text))
        assert written(found, found.segment, str) == text


def test_overlapping_elements_and_lone_tags_stand_alone():
    found = gather(pieces("(a[b)c]"))
    assert [span.alone for span in found.segment.spans] == [False, True, True]


def test_line_breaks_are_known():
    assert gather(pieces("ab/c")).segment.breaks == (2,)
