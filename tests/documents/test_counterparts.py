"""Elements around a placeholder alone stay around it, whatever the links say."""

import time

from dragoman.documents.alignment import align
from dragoman.documents.containment import Span
from dragoman.documents.counterparts import counterparts, places_of
from dragoman.documents.projection import project
from dragoman.documents.segments import Segment
from dragoman.documents.transfer import transfer


def around(text: str, *words: str) -> Segment:
    """Return a segment with an element around each of some words, in order."""
    spans, done = [], 0
    for word in words:
        start = text.index(word, done)
        done = start + len(word)
        spans.append(Span(start, done))
    return Segment(text, tuple(spans))


def inside(segment: Segment | None) -> list[str]:
    """Return what the elements of a segment enclose."""
    assert segment is not None
    return [segment.text[one.start : one.end] for one in segment.spans]


def test_fields_hold_their_numbers_where_links_are_wrong():
    segment = around("Page 2 of 12", "2", "12")
    found = transfer(segment, align(segment.text, "2 trong số 12", [(0, 0), (1, 1), (3, 2), (3, 3)]))
    assert found is not None
    assert (inside(found.segment), found.tags) == (["2", "12"], 0)


def test_equal_numbers_belong_together_by_their_links_or_else_in_order():
    segment = around("1 of 1", "1", "1")
    assert counterparts(align(segment.text, "1 von 1", [])) == {(0, 1): (0, 1), (5, 6): (6, 7)}
    assert counterparts(align(segment.text, "1 von 1", [(0, 2), (2, 0)])) == {(0, 1): (6, 7), (5, 6): (0, 1)}


def test_numbers_are_found_by_value_and_within_words_of_a_script_without_spaces():
    segment = around("Page 2 of 1,200", "2", "1,200")
    found = transfer(segment, align(segment.text, "第2页，共1.200页", [(0, 0)]))
    assert found is not None
    assert inside(found.segment) == ["2", "1.200"]


def test_dates_and_placeholders_are_like_numbers():
    segment = around("On 11/26/26 at 10:30 write to {name}.", "11/26/26", " 10:30 ", "{name}")
    found = transfer(segment, align(segment.text, "Viết cho {name} lúc 10:30 ngày 11/26/26 đó.", [(0, 0)]))
    assert found is not None
    assert inside(found.segment) == ["11/26/26", "10:30", "{name}"]


def test_parts_of_what_belongs_together_are_found_too():
    segment = around("Page 1/5", "1", "5")
    assert places_of(align(segment.text, "Trang 1/5"), segment.spans) == {0: (6, 7), 1: (8, 9)}


def test_a_number_outside_of_its_parent_leaves_the_element_in_the_parent():
    spans = [Span(0, 5), Span(4, 5, parent=0)]
    pair = align("cat 5 sees", "5 thấy mèo", [(0, 2), (2, 1)])
    found = project(pair, spans, places_of(pair, spans)).spans
    assert [(one.start, one.end) for one in found] == [(7, 10), (10, 10)]


def test_a_number_that_the_translation_lacks_has_no_place():
    assert counterparts(align("3 cats and 3 dogs", "3 mèo và chó")) == {}


def test_thousands_of_equal_numbers_take_little_time():
    text = "7 " * 5000
    begun = time.process_time()
    found = counterparts(align(text, text, [(i, 4999 - i) for i in range(5000)]))
    assert found[(0, 1)] == (9998, 9999) and found[(9998, 9999)] == (0, 1)
    assert time.process_time() - begun < 2
