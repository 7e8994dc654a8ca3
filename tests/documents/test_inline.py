"""Pieces become text and elements, and pieces again."""

import re
from dataclasses import replace

from dragoman.documents.inline import Piece, gather, written
from dragoman.documents.projection import Span


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


def test_many_tags_without_a_counterpart_stand_alone():
    many = 100_000
    found = gather([*pieces("(" * many), *pieces("a"), *pieces("]" * many)])
    assert found.segment.spans == (*[Span(0, 0, alone=True)] * many, *[Span(1, 1, alone=True)] * many)


def test_tags_without_a_counterpart_leave_the_elements_after_them_whole():
    found = gather([*pieces("(" * 300), *pieces("[a]")])
    assert found.segment.spans[-1] == Span(0, 1)


def test_ranges_that_overlap_elements_begin_before_they_end():
    many = 20_000
    begins = [Piece("open", f"<{number}>", f"range {number}", loose=True) for number in range(many)]
    ends = [Piece("close", f"</{number}>", f"range {number}", loose=True) for number in range(many)]
    found = gather([*pieces("("), *begins, *pieces(")a("), *ends, *pieces(")")])
    turned = tuple(replace(span, start=1 - span.start, end=1 - span.end) for span in found.segment.spans)
    shown = re.findall("<.*?>", written(found, replace(found.segment, spans=turned), str))
    assert [one.startswith("</") for one in shown] == [False] * many + [True] * many
    assert {one.replace("/", "") for one in shown[many:]} == {*shown[:many]}
