"""Tags come to the translated words they were around; none is lost, and what was nested is nested."""

import time

from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.alignment import align
from dragoman.documents.containment import Span
from dragoman.documents.projection import divide, nests, project

WORDS = st.lists(st.sampled_from(["a", "bb", "c,", "(dd", "e.", "."]), max_size=8).map(" ".join)


@st.composite
def tagged(draw):
    """Draw a text with nested elements, a translation, and links between them, or None."""
    source, target = draw(WORDS), draw(WORDS)
    spans: list[Span] = []

    def elements(low: int, high: int, parent: int | None, depth: int) -> None:
        for _ in range(draw(st.integers(0, 3))):
            start = draw(st.integers(low, high))
            if draw(st.booleans()):
                spans.append(Span(start, start, parent, alone=True))
                low = start
            else:
                end = draw(st.integers(start, high))
                spans.append(Span(start, end, parent))
                if depth < 2:
                    elements(start, end, len(spans) - 1, depth + 1)
                low = end

    elements(0, len(source), None, 0)
    links = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=9)
    return align(source, target, draw(st.none() | links)), spans


def marked(text: str, spans) -> str:
    """Write brackets for pairs and bars for tags alone."""
    signs = [(one.start, 1, "|" if one.alone else "[]") for one in spans if one.start == one.end]
    signs += [(one.start, 2, "[") for one in spans if one.start < one.end]
    signs += [(one.end, 0, "]") for one in spans if one.start < one.end]
    for place, _, sign in sorted(signs, reverse=True):
        text = text[:place] + sign + text[place:]
    return text


@given(tagged())
def test_elements_are_kept_and_nested_whatever_the_links(drawn):
    alignment, spans = drawn
    found = project(alignment, spans)
    assert nests(found.spans, len(found.text))
    assert [(one.parent, one.alone) for one in found.spans] == [(one.parent, one.alone) for one in spans]
    assert found.text.split() == alignment.target.split() or any(span.alone for span in spans)
    assert "".join(found.text.split()) == "".join(alignment.target.split())


def shown(source: str, target: str, spans, links=None) -> str:
    found = project(align(source, target, links), spans)
    return marked(found.text, found.spans)


def test_a_pair_goes_with_its_words_and_leaves_signs_out():
    assert (
        shown("a red house, there", "kia một nhà đỏ,", [Span(2, 5)], [(0, 1), (1, 3), (2, 2), (3, 0)])
        == "kia một nhà [đỏ],"
    )
    assert shown("see (this)", "xem (đây)", [Span(5, 9)]) == "xem ([đây])"
    assert shown("Stop now!", "Dừng lại!", [Span(5, 9)]) == "Dừng [lại!]"


def test_a_pair_around_everything_stays_around_everything():
    assert shown("one two", "một hai ba", [Span(0, 7), Span(0, 3, 0)], [(0, 1)]) == "[một [hai] ba]"


def test_words_far_from_the_majority_are_left_out_and_counted():
    source, links = "a b c d e f", [(0, 0), (2, 1), (3, 2), (4, 3), (1, 5), (0, 4)]
    found = project(align(source, "u v w x y z", links), [Span(0, 3)])
    assert (marked(found.text, found.spans), found.mended) == ("u v w x [y z]", 1)


def test_siblings_never_overlap():
    links = [(0, 0), (1, 1), (0, 2), (1, 3)]
    assert shown("a b", "w x y z", [Span(0, 1), Span(2, 3)], links).count("]") == 2


def test_a_pair_whose_words_are_lost_is_empty_at_its_place_and_counted():
    found = project(align("a b c", "x z", [(0, 0), (2, 1)]), [Span(2, 3)])
    assert (marked(found.text, found.spans), found.mended) == ("x[] z", 1)


def test_tags_alone_come_after_the_word_before_them():
    assert shown("go home", "về nhà", [Span(0, 0, alone=True), Span(7, 7, alone=True)]) == "|về nhà|"
    assert shown("big cat, black", "mèo to, đen", [Span(3, 3, alone=True)], [(0, 1), (1, 0), (2, 2)]) == "mèo to|, đen"


def test_a_tag_alone_keeps_its_spaces():
    assert shown("by  on", "bởi vào", [Span(3, 3, alone=True)]) == "bởi | vào"
    assert shown("the old man", "the old man", [Span(4, 4, alone=True)]) == "the |old man"
    assert shown("the old man", "old man the", [Span(4, 4, alone=True)], [(1, 0), (2, 1), (0, 2)]) == "old man the |"
    assert shown("the  man", "man the", [Span(4, 4, alone=True)], [(1, 0), (0, 1)]) == "man the |"
    assert shown("the  man", "man", [Span(4, 4, alone=True)], [(1, 0)]) == "| man"
    assert shown("the  man.", "so man", [Span(4, 4, alone=True)], [(1, 1)]) == "so | man"
    inner = project(align("the  man", "man", [(1, 0)]), [Span(0, 8), Span(4, 4, 0, alone=True)])
    assert (inner.text, inner.spans) == (" man", (Span(0, 4), Span(0, 0, 0, alone=True)))
    assert shown("the  (man", "(man", [Span(4, 4, alone=True)], [(1, 0)]) == "|(man"
    assert shown("go  \n", "go  \n", [Span(3, 3, alone=True)]) == "go | \n"
    assert shown("  go", "  go", [Span(1, 1, alone=True)]) == " | go"
    assert shown(" go  ", " đi  ", [Span(1, 4), Span(4, 4, 0, alone=True)]) == " [đi ]| "


def test_an_element_in_another_keeps_its_last_word_before_a_sign():
    spans = [Span(6, 18), Span(10, 18, 0)]
    assert shown("Visit our web site. Now", "Đến trang web này. Ngay", [Span(6, 18)]).count("[") == 1
    assert shown("Visit our web site. Now", "Thăm cái nơi web. Giờ", spans) == "Thăm [cái [nơi web]]. Giờ"
    found = project(align("see (our site)", "xem (cái nơi)"), [Span(5, 13), Span(5, 8, 0)])
    assert (marked(found.text, found.spans), found.mended) == ("xem ([[cái] nơi])", 0)


def test_an_element_around_a_part_of_a_word_stays_there():
    links = [(1, 0), (0, 1)]
    assert shown("drink H2O", "H2O uống", [Span(7, 8)], links) == "H[2]O uống"
    assert shown("text1, then", "rồi bài1,", [Span(4, 5)], links) == "rồi bài[1],"
    assert shown("222 m", "222 m", [Span(2, 3)]) == "22[2] m"
    assert shown("the 1st", "1st cái", [Span(5, 7)], links) == "1[st] cái"
    found = project(align("drink H2O", "uống nước", [(0, 0), (1, 1)]), [Span(7, 8)])
    assert found.mended == 1
    both = shown("H2O2", "H2O2", [Span(1, 2), Span(3, 4)])
    assert both == "H[2]O[2]"


def test_what_must_be_somewhere_is_there():
    pair = align("a b c d", "w x y z")
    found = project(pair, [Span(0, 3), Span(2, 3, 0), Span(4, 7)], fixed={0: (0, 1), 2: (2, 7)})
    assert nests(found.spans, 7)
    assert found.spans[0] == Span(0, 1)
    assert found.spans[2] == Span(2, 7)


def test_a_translation_is_divided_where_links_cross_least():
    links = [(0, 0), (2, 1), (3, 2), (4, 3), (5, 5), (6, 6)]
    pair = align("I do not know him, he said", "Tôi không biết anh ấy, hắn nói", links)
    assert divide(pair, [19]) == [pair.target.index("hắn")]


def test_every_part_of_a_divided_translation_has_words_while_there_are_enough():
    pair = align("a b c d e f", "x y z", [(5, 0), (5, 1), (5, 2)])
    assert divide(pair, [2, 4]) == [2, 4]
    assert divide(align("a b c", "x"), [2, 4]) == [1, 1]
    assert divide(align("a b", ""), [2]) == [0]


def test_wrong_nesting_is_seen():
    assert not nests([Span(0, 3), Span(1, 4, 0)], 9)
    assert not nests([Span(0, 3, 0)], 9)
    assert not nests([Span(0, 10)], 9)
    assert not nests([Span(1, 2, alone=True)], 9)


def test_a_tag_alone_keeps_its_space_and_the_sign_after_it():
    lone = [Span(4, 4, alone=True)]
    for target, written in (("xem , nay", "xem |, nay"), ("xem, nay", "xem |, nay"), ("xem nay", "xem | nay")):
        found = project(align("see , now", target, [(0, 0), (1, 1), (2, 2)]), lone)
        assert f"{found.text[: found.spans[0].start]}|{found.text[found.spans[0].start :]}" == written
    found = project(align("see[1] now", "xem nay", [(0, 0), (1, 1)]), [Span(3, 3, alone=True)])
    assert (found.text, found.spans[0].start) == ("xem nay", 3)


def test_a_text_with_a_tag_at_each_word_takes_no_longer():
    text = " ".join(["a"] * 800)
    spans = [Span(2 * one, 2 * one + 1) for one in range(800)]
    begun = time.process_time()
    assert project(align(text, text, [(one, one) for one in range(800)]), spans).spans == tuple(spans)
    assert time.process_time() - begun < 2


def test_a_tag_at_the_end_of_its_parent_has_its_space_there():
    spans = [Span(3, 8), Span(8, 8, parent=0, alone=True)]
    found = project(align("We love  cats.", "Tôi yêu mèo.", [(0, 0), (1, 1), (2, 2)]), spans)
    assert (found.text, found.spans) == ("Tôi yêu  mèo.", (Span(4, 8), Span(8, 8, parent=0, alone=True)))


def test_a_line_break_comes_after_the_full_stop_that_a_translation_added():
    pair = align("one two\nthree", "một hai. Ba", [(0, 0), (1, 1), (2, 2)])
    assert project(pair, [Span(7, 7, alone=True)]).spans[0].start == len("một hai.")
