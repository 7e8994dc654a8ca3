"""What each character is: tables over UTF-16 code units, so that whole texts are looked up at once."""

import re
import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

UNITS = 1 << 16

LETTER, UPPER, LOWER, CONTROL, INVISIBLE, ODD_SPACE, REPLACEMENT, DIGIT, SPACE = (1 << bit for bit in range(9))
COMBINING, MISREAD, CONTINUED = (1 << bit for bit in range(9, 12))
"""Bits of `flags`. Without one that has `COMBINING`, a text is in Unicode NFC; mojibake has `MISREAD` before `CONTINUED`."""
BETWEEN, LETTERS, WORDS, ALONE, SIGN = range(5)
"""Kinds of code units in tokens: spaces; letters, and what else words consist of; characters of a script without spaces, each a
token; other signs, each a token too."""

INVISIBLES = "\u00ad\u180e\u200b\u2060\ufeff"
"""Characters that take no room and mean nothing; those that join letters, or turn the direction of writing, are left out."""
ODD_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
LINE_ENDS = "\u0085\u2028\u2029"
SPECIALS = {
    byte: bytes([byte]).decode("cp1252", "replace")
    for byte in range(0x80, 0xA0)
    if bytes([byte]).decode("cp1252", "replace").encode("utf-8") != b"\xff"
}
"""What Windows-1252 reads in the bytes that Latin-1 leaves to control characters."""
CONTINUATIONS = "".join(map(chr, range(0x80, 0xC0))) + "".join(SPECIALS.values()).replace("\ufffd", "")
"""What Latin-1 and Windows-1252 read in the bytes of UTF-8 after the first of a character."""
MISREADS = "ÂÃÄÅÆÐÑÎÏáâãäåæçèé"
"""What they read in the first byte, where that is common."""

SCRIPTS: tuple[tuple[str, str], ...] = (
    ("Latin", "A-Z a-z ª-ª º-º À-Ö Ø-ö ø-ʯ Ḁ-ỿ Ａ-Ｚ ａ-ｚ"),
    ("Greek", "Ͱ-Ͽ ἀ-῿"),
    ("Cyrillic", "Ѐ-ԯ"),
    ("Armenian", "\u0531-\u058a"),
    ("Hebrew", "\u0590-\u05ff"),
    ("Arabic", "\u0600-\u06ff \u0750-\u077f \ufb50-\ufdff \ufe70-\ufefc"),
    ("Devanagari", "\u0900-\u097f"),
    ("Bengali", "\u0980-\u09ff"),
    ("Gurmukhi", "\u0a00-\u0a7f"),
    ("Gujarati", "\u0a80-\u0aff"),
    ("Oriya", "\u0b00-\u0b7f"),
    ("Tamil", "\u0b80-\u0bff"),
    ("Telugu", "\u0c00-\u0c7f"),
    ("Kannada", "\u0c80-\u0cff"),
    ("Malayalam", "\u0d00-\u0d7f"),
    ("Sinhala", "\u0d80-\u0dff"),
    ("Thai", "\u0e00-\u0e7f"),
    ("Lao", "\u0e80-\u0eff"),
    ("Tibetan", "\u0f00-\u0fff"),
    ("Burmese", "\u1000-\u109f"),
    ("Georgian", "\u10a0-\u10ff \u1c90-\u1cbf"),
    ("Ethiopic", "\u1200-\u137f"),
    ("Khmer", "\u1780-\u17ff"),
    ("Korean", "\u1100-\u11ff \u3130-\u318f \uac00-\ud7af"),
    ("Chinese or Japanese", "\u3040-\u30ff \u31f0-\u31ff \u3400-\u9fff \uf900-\ufaff"),
)
"""Scripts and the ranges of their letters. Han and Kana count as one, because Japanese mixes them."""

LATIN = re.findall(
    r"\w+",
    "en fr de es it pt nl pl cs sk sl hr ro hu fi et lv lt sv da no nb nn is tr vi id ms tl sw af sq eu ca gl cy ga mt lb eo la",
)
LANGUAGE_SCRIPTS = {
    **dict.fromkeys(("el",), "Greek"),
    **dict.fromkeys(("ru", "uk", "bg", "be", "mk", "mn", "kk", "ky", "tg"), "Cyrillic"),
    **dict.fromkeys(("ar", "fa", "ur", "ps", "ug", "sd"), "Arabic"),
    **dict.fromkeys(("he", "yi"), "Hebrew"),
    **dict.fromkeys(("hi", "mr", "ne"), "Devanagari"),
    **dict.fromkeys(("zh", "ja"), "Chinese or Japanese"),
    **{"bn": "Bengali", "ta": "Tamil", "te": "Telugu", "th": "Thai", "lo": "Lao", "km": "Khmer", "my": "Burmese"},
    **{"ko": "Korean", "ka": "Georgian", "hy": "Armenian", "am": "Ethiopic", "gu": "Gujarati", "kn": "Kannada"},
    **{"ml": "Malayalam", "si": "Sinhala", "pa": "Gurmukhi", "or": "Oriya"},
    **dict.fromkeys(LATIN, "Latin"),
}
"""The script that a language is written in, where there is one only."""

Units = NDArray[np.uint16]


@cache
def flags() -> Units:
    """Return the bits of each code unit."""
    found = np.zeros(UNITS, np.uint16)
    for unit, character in enumerate(map(chr, range(UNITS))):
        if character.isalpha():
            found[unit] = LETTER | UPPER * character.isupper() | LOWER * character.islower()
        elif character.isdigit():
            found[unit] = DIGIT
        elif character.isspace():
            found[unit] = SPACE
        if (unit < 32 or 127 <= unit < 160) and character not in "\t\n":
            found[unit] |= CONTROL
        if unicodedata.combining(character) or not unicodedata.is_normalized("NFC", character):
            found[unit] |= COMBINING
        elif len(parts := unicodedata.decomposition(character).split(" ")) == 2 and parts[0][0] != "<":
            found[int(parts[1], 16)] |= COMBINING
    for characters, bit in (
        (INVISIBLES, INVISIBLE),
        (ODD_SPACES, ODD_SPACE),
        (LINE_ENDS, CONTROL),
        ("\ufffd", REPLACEMENT),
        (MISREADS, MISREAD),
        (CONTINUATIONS, CONTINUED),
    ):
        found[list(map(ord, characters))] |= bit
    for first, last in (
        (0x1161, 0x1175),
        (0x11A8, 0x11C2),
        (0xD800, 0xDFFF),
    ):  # Korean letters, and halves of characters
        found[first : last + 1] |= COMBINING
    return found


@cache
def scripts() -> NDArray[np.uint8]:
    """Return the number of the script of each code unit, counted from 1 in `SCRIPTS`; 0 for none."""
    found = np.zeros(UNITS, np.uint8)
    for number, (_, ranges) in enumerate(SCRIPTS, 1):
        for first, _, last in (part.partition("-") for part in ranges.split(" ")):
            found[ord(first) : ord(last) + 1] = number
    return found


@cache
def unspaced() -> tuple[tuple[int, NDArray[np.bool_]], ...]:
    """Return, for scripts without spaces between words, how many letters a word has, about, and which code units they are."""
    groups = {2: ("Chinese or Japanese",), 4: ("Thai", "Lao", "Burmese", "Khmer")}
    names = [name for name, _ in SCRIPTS]
    return tuple(
        (letters, np.isin(scripts(), [1 + names.index(name) for name in group])) for letters, group in groups.items()
    )


@cache
def folded() -> Units:
    """Return what each code unit becomes when only letters and digits count: lower case, one digit for all, 0 for the rest.

    Line feeds stay. Marks that belong to letters stay too, as do both halves of characters beyond U+FFFF.
    """
    found = np.zeros(UNITS, np.uint16)
    for unit, character in enumerate(map(chr, range(UNITS))):
        kind = unicodedata.category(character)
        if kind == "Nd":
            found[unit] = ord("0")
        elif kind[0] in "LNM":
            like = ord(unicodedata.normalize("NFKC", character).casefold()[0])
            found[unit] = like if like < UNITS else unit
        elif kind == "Cs":
            found[unit] = unit
    found[ord("\n")] = ord("\n")
    return found


@cache
def spelled() -> Units:
    """Return what each code unit becomes when words count: letters in lower case, line feeds, a space for anything else."""
    found = folded().copy()
    found[(found == 0) | (found == ord("0"))] = ord(" ")
    return found


@cache
def token_kinds() -> NDArray[np.uint8]:
    """Return what each code unit is in a text that is cut into tokens: one of `BETWEEN`, `LETTERS`, `WORDS`, `ALONE`, `SIGN`."""
    found = np.full(UNITS, SIGN, np.uint8)
    for unit, character in enumerate(map(chr, range(UNITS))):
        if character.isspace():
            found[unit] = BETWEEN
        elif character.isalnum() or character == "_":
            found[unit] = LETTERS if character.isalpha() else WORDS
    for first, last in ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF)):
        found[first : last + 1] = ALONE
    return found


@cache
def token_codes() -> NDArray[np.uint64]:
    """Return a random number for each code unit without its case, 0 for spaces: hashes of tokens are made of them."""
    units = np.arange(UNITS)
    for unit, character in enumerate(map(chr, range(UNITS))):
        like = character.casefold()
        units[unit] = ord(like) if len(like) == 1 else unit
    return np.where(token_kinds() == BETWEEN, np.uint64(0), scrambled()[units])


@cache
def scrambled() -> NDArray[np.uint64]:
    """Return a random number for each code unit, always the same: hashes of texts are made of them."""
    return np.random.default_rng(1).integers(1, 1 << 63, UNITS, np.uint64) * np.uint64(2) + np.uint64(1)
