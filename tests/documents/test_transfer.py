"""Placeholders, tags and cuts reach the translation together."""

from dragoman.documents.alignment import align
from dragoman.documents.containment import Span
from dragoman.documents.segments import Segment
from dragoman.documents.transfer import transfer


def test_tags_stay_in_their_part():
    segment = Segment("a b c d", (Span(0, 1), Span(6, 7)), cuts=(4,))
    found = transfer(segment, align(segment.text, "w x y z", [(3, 0), (2, 1), (1, 2), (0, 3)]))
    assert found is not None
    (cut,) = found.segment.cuts
    first, last = found.segment.spans
    assert first.end <= cut <= last.start
    assert first.parent is last.parent is None


def test_a_tag_at_a_cut_is_in_the_part_that_begins_there_and_one_at_the_end_in_the_last():
    segment = Segment("a b c d", (Span(4, 4, alone=True), Span(7, 7, alone=True)), cuts=(4,))
    found = transfer(segment, align(segment.text, "x w z y", [(1, 0), (0, 1), (3, 2), (2, 3)]))
    assert found is not None
    assert found.segment.cuts == (4,)
    assert [one.start for one in found.segment.spans] == [4, 7]


def test_what_is_mended_is_counted():
    found = transfer(Segment("%s a"), align("%s a", "b", [(1, 0)]))
    assert found is not None
    assert (found.segment.text, found.placeholders, found.tags) == ("%s b", 1, 0)
