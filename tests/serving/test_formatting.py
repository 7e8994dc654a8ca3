"""What a translation takes over from its source."""

import pytest

from dragoman.serving.formatting import formatted_like, has_words


@pytest.mark.parametrize(
    ("source", "text", "formatted"),
    [
        ("Hello", "Xin chào.", "Xin chào"),
        ("Hello.", "Xin chào", "Xin chào."),
        ("Really?", "Thật sao?", "Thật sao?"),
        ("hello", "Xin chào", "xin chào"),
        ("hello", "UNESCO nói", "UNESCO nói"),
        ("Hello", "xin chào", "Xin chào"),
        ("GO HOME", "về nhà", "VỀ NHÀ"),
        ("I", "tôi", "Tôi"),
        ("cat", "mèo mèo mèo", "mèo"),
        ("cat cat", "mèo mèo", "mèo mèo"),
        ("a)", "Một.", "một."),
        (" Hello ", " xin chào. ", " Xin chào "),
        ("Hi", "...", "..."),
        ("", "x", "x"),
        ("...", "x", "x"),
    ],
)
def test_a_translation_begins_and_ends_like_its_source(source: str, text: str, formatted: str):
    assert formatted_like(source, text) == formatted


def test_signs_alone_are_no_words():
    assert not has_words("👍🏽 — !!") and not has_words("") and has_words("x") and has_words("7")
