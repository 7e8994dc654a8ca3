"""What each character is."""

import numpy as np
import pytest

from dragoman.doctor import characters


@pytest.mark.parametrize(
    ("character", "bits"),
    [
        ("a", characters.LETTER | characters.LOWER),
        ("Đ", characters.LETTER | characters.UPPER),
        ("٣", characters.DIGIT),
        (" ", characters.SPACE),
        ("\t", characters.SPACE),
        ("\u00a0", characters.SPACE | characters.ODD_SPACE | characters.CONTINUED),
        ("\u200b", characters.INVISIBLE),
        ("\x07", characters.CONTROL),
        ("\x9d", characters.CONTROL | characters.CONTINUED),
        ("Ã", characters.LETTER | characters.UPPER | characters.MISREAD),
        ("\u0301", characters.COMBINING),
        ("\u2028", characters.CONTROL | characters.SPACE),
        ("\ufffd", characters.REPLACEMENT),
        ("中", characters.LETTER),
        ("!", 0),
        ("\u200d", 0),
    ],
)
def test_characters_have_their_bits(character: str, bits: int) -> None:
    assert characters.flags()[ord(character)] == bits


@pytest.mark.parametrize(
    ("character", "script"),
    [("ễ", "Latin"), ("ж", "Cyrillic"), ("の", "Chinese or Japanese"), ("中", "Chinese or Japanese"), ("한", "Korean")],
)
def test_letters_have_a_script(character: str, script: str) -> None:
    number = int(characters.scripts()[ord(character)])
    assert characters.SCRIPTS[number - 1][0] == script
    assert characters.scripts()[ord("!")] == characters.scripts()[ord("3")] == 0


def test_every_language_has_a_script_that_exists() -> None:
    assert set(characters.LANGUAGE_SCRIPTS.values()) <= {name for name, _ in characters.SCRIPTS}
    assert characters.LANGUAGE_SCRIPTS["vi"] == "Latin"


def test_folding_keeps_letters_and_digits_alone() -> None:
    units = np.array([ord(character) for character in "Ab7 -\n"], np.uint16)
    assert characters.folded()[units].tolist() == [ord("a"), ord("b"), ord("0"), 0, 0, ord("\n")]
    assert characters.spelled()[units].tolist() == [ord("a"), ord("b"), 32, 32, 32, ord("\n")]


def test_random_numbers_are_odd_and_always_the_same() -> None:
    numbers = characters.scrambled()
    assert (numbers & np.uint64(1)).all() and len(np.unique(numbers)) == characters.UNITS
