"""Markup is cut into tags and text, and joined again."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.serving.tags import cut, is_nested, tags_of

PIECES = [
    "<a>",
    "</a>",
    "<B c='>'>",
    "</b>",
    "<br>",
    "<x/>",
    "a",
    " < ",
    "&amp;",
    "<!-- <i> -->",
    "<",
    ">",
    '<i d="',
    "</",
    "<!DOCTYPE html>",
]


@given(st.lists(st.sampled_from(PIECES)).map("".join), st.booleans())
def test_pieces_are_the_markup(markup: str, is_html: bool):
    pieces = cut(markup, is_html=is_html)
    assert "".join(piece.raw for piece in pieces) == markup
    assert all(pieces[one.partner].partner == number for number, one in enumerate(pieces) if one.partner is not None)


@pytest.mark.parametrize(
    ("markup", "tags"),
    [
        ('<a href="x>y" title=\'"\'>z</a>', ['<a href="x>y" title=\'"\'>', "</a>"]),
        ("1 < 2 > 0 <3", []),
        ("a<!-- <b> -->c<![CDATA[<d>]]><?php <e> ?>", ["<!-- <b> -->", "<![CDATA[<d>]]>", "<?php <e> ?>"]),
        ("<SCRIPT>if (a<b) '<i>'</script >x", ["<SCRIPT>", "</script >"]),
        ("<g:x id='1'/><w-y>", ["<g:x id='1'/>", "<w-y>"]),
    ],
)
def test_tags_are_seen_as_a_browser_sees_them(markup: str, tags: list[str]):
    assert tags_of(markup, is_html=True) == tags


def test_character_data_is_no_text_and_the_inside_of_a_script_is():
    assert [piece.kind for piece in cut("a<![CDATA[<b>]]>c", is_html=False)] == ["text", "alone", "text"]
    assert [piece.kind for piece in cut("<script>a<b></script>", is_html=True)] == ["open", "text", "close"]


def test_pairs_are_found_and_others_are_not():
    assert [piece.partner for piece in cut("<p><b>x</p></i><br>", is_html=True)] == [3, None, None, 0, None, None]
    assert [piece.kind for piece in cut("<br>", is_html=False)] == ["open"]
    assert is_nested("<a>x<br/></a>", is_html=False) and not is_nested("<a>", is_html=False)
    assert is_nested("<A>x</a>", is_html=True) and not is_nested("<A>x</a>", is_html=False)


def test_tags_that_are_never_closed_and_deep_ones_take_no_longer():
    assert is_nested("<b>" * 200 + "</b>" * 200, is_html=True)
    seconds = []
    for _ in range(3):  # one of them may collect garbage that other tests have left
        begun = time.thread_time()
        for markup in ("<x>a</y>" * 3000, "<b>" * 3000 + "x" + "</b>" * 3000):
            assert "".join(piece.raw for piece in cut(markup, is_html=True)) == markup
            assert not is_nested(markup, is_html=True)
        seconds.append(time.thread_time() - begun)
    assert min(seconds) < 1
