"""Normalisation of text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalize import normalize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  two   words \n", "two words"),
        ("non\u00a0breaking\u202fand\u2009thin\u3000wide", "non breaking and thin wide"),
        ("tab\tand\u2028line\u0085separators", "tab and line separators"),
        ("tie\u0302\u0301ng Vie\u0302\u0323t", "tiếng Việt"),
        ("soft\u00adhyphen zero\u200bwidth \ufeffmark bell\x07", "softhyphen zerowidth mark bell"),
        ("a\ud800b", "ab"),
        ("▁▅￭", "_▄■"),
        (" \u200b ", ""),
        ("", ""),
    ],
)
def test_text_gets_one_spelling(text: str, expected: str) -> None:
    assert normalize(text) == expected


def test_lower_case_is_made_where_asked_for() -> None:
    assert normalize("ĐÂY là Élan", lower=True) == "đây là élan"
    assert normalize("ĐÂY là Élan") == "ĐÂY là Élan"


@given(st.text(), st.booleans())
def test_normalising_twice_changes_nothing_more(text: str, lower: bool) -> None:
    once = normalize(text, lower)
    assert normalize(once, lower) == once


def test_every_character_is_normalised_once_and_for_all() -> None:
    for block in range(0, 0x110000, 256):
        text = " ".join(f"a{chr(code)}b" for code in range(block, block + 256))
        for lower in (False, True):
            once = normalize(text, lower)
            assert normalize(once, lower) == once, hex(block)


@given(st.text())
def test_normalised_text_is_nfc_without_control_characters_or_outer_spaces(text: str) -> None:
    normalized = normalize(text)
    assert unicodedata.is_normalized("NFC", normalized)
    assert normalized == normalized.strip()
    assert "  " not in normalized
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in normalized)
