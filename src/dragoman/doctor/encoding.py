"""Faults of characters: damaged text, text in other forms of Unicode, characters that nobody sees, markup."""

import html
import re

import numpy as np

from dragoman.doctor import characters
from dragoman.doctor.check import LineCheck
from dragoman.doctor.chunk import Rows, Side
from dragoman.text.normalize import normalize

ENTITY = re.compile(
    r"& ?(?:quot|amp|apos|lt|gt|nbsp|copy|reg|trade|hellip|[mn]dash|[lr][sd]quo|[lr]aquo|bull|middot|deg|euro|pound|shy|szlig"
    r"|[a-zA-Z](?:acute|grave|circ|uml|tilde|cedil|ring|slash)|[aoAO][eE]lig|#[0-9]{2,6}|#x[0-9a-fA-F]{2,6}) ?;"
)
MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}(?: [^<>\n]{0,200})?/?>|\{\\[a-zA-Z][^}\n]{0,20}\}")
SUBWORDS = re.compile(r"(?<!@)@@(?=[ \n])|(?<![^ \n])▁|(?<=\w)￭|￭(?=\w)")

_CONTINUATION = re.escape(characters.CONTINUATIONS)
MOJIBAKE = re.compile(
    f"[ÂÃÄÅÆ][{_CONTINUATION}]"  # Latin letters with accents
    f"|á[º»][{_CONTINUATION}]"  # Vietnamese letters
    f"|â[\x80€][{_CONTINUATION}]"  # quotation marks and dashes
    f"|(?:[ÐÑ][{_CONTINUATION}]){{2}}|(?:[ÎÏ][{_CONTINUATION}]){{2}}"  # Cyrillic and Greek words
    f"|(?:[ä-éãæçè][{_CONTINUATION}]{{2}}){{2}}"  # Chinese, Japanese and Korean words
)
"""UTF-8 that was read as Latin-1 or Windows-1252."""


class ReplacementCharacters(LineCheck):
    """Characters that were lost when something decoded the text."""

    name = "replacement-character"
    severity = "warning"
    serious = 0.001
    what = "has U+FFFD, which stands for characters that were lost"
    advice = "make the file again from its source, or remove these pairs"
    removes = True

    def rows(self, side: Side) -> Rows:
        """Find U+FFFD."""
        return side.flagged(characters.REPLACEMENT)


class Mojibake(LineCheck):
    """UTF-8 that was read in another encoding and written again."""

    name = "mojibake"
    severity = "warning"
    serious = 0.001
    what = "looks like UTF-8 that was read as Latin-1 or Windows-1252"
    advice = "decode the source as UTF-8 once, or remove these pairs"
    removes = True

    def rows(self, side: Side) -> Rows:
        """Find sequences that become letters when they are decoded again."""
        begun = np.append(side.flags[:-1] & characters.MISREAD != 0, False)
        begun[:-1] &= side.flags[1:] & characters.CONTINUED != 0
        return np.array([row for row in side.codes.rows(begun).tolist() if unmade(side.lines[row])], np.int64)


class NotComposed(LineCheck):
    """Letters and their accents as two characters, or other characters that Unicode has a preferred form of."""

    name = "not-nfc"
    what = "is not in Unicode NFC"
    advice = "normalise it before you count characters or compare texts; Dragoman does when it reads"

    def rows(self, side: Side) -> Rows:
        """Find lines that normalisation would change."""
        return side.uncomposed


class ControlCharacters(LineCheck):
    """Control characters, and ends of lines other than the line feed."""

    name = "control-characters"
    severity = "warning"
    serious = 0.001
    what = "has control characters, or ends of lines inside"
    advice = "remove them, and check how the file was made: binary data, or another encoding, often has them"

    def rows(self, side: Side) -> Rows:
        """Find control characters."""
        return side.flagged(characters.CONTROL)


class InvisibleCharacters(LineCheck):
    """Zero-width spaces, soft hyphens and byte order marks inside a text."""

    name = "zero-width"
    what = "has characters that nobody sees: zero-width spaces, soft hyphens, byte order marks"
    advice = "remove them; Dragoman does when it reads, other tools count them"

    def rows(self, side: Side) -> Rows:
        """Find invisible characters."""
        return side.flagged(characters.INVISIBLE)


class OddSpaces(LineCheck):
    """No-break spaces and spaces of other widths."""

    name = "odd-spaces"
    what = "has no-break spaces, or spaces of other widths"
    advice = "write plain spaces, or always the same; Dragoman reads all of them as plain spaces"

    def rows(self, side: Side) -> Rows:
        """Find such spaces."""
        return side.flagged(characters.ODD_SPACE)


class OuterSpaces(LineCheck):
    """Spaces at the ends of lines, and several in a row."""

    name = "outer-spaces"
    what = "has spaces at its ends, or several in a row"
    advice = "remove them; Dragoman does when it reads"

    def rows(self, side: Side) -> Rows:
        """Find spaces beside another one, or beside the end of a line."""
        apart = np.concatenate(([True], side.flags & characters.SPACE != 0, [True]))
        inside = apart[1:-1] & (side.codes.units != ord("\n"))
        return side.codes.rows(inside & (apart[:-2] | apart[2:]))


class ByteOrderMark(LineCheck):
    """A byte order mark at the start of a file."""

    name = "byte-order-mark"
    what = "begins with a byte order mark"
    advice = "save the file as UTF-8 without one; Dragoman skips it, other tools make it part of the first word"

    def rows(self, side: Side) -> Rows:
        """Look at the first line of the corpus."""
        first = self.seen == len(side) and side.lines[0].startswith("\ufeff")
        return np.zeros(1 if first else 0, np.int64)


class Entities(LineCheck):
    """Entities of HTML and XML."""

    name = "entities"
    severity = "warning"
    serious = 0.01
    what = "has entities of HTML, such as &quot;"
    advice = "resolve them, in training and test alike: a model that learns from them also writes them"

    def rows(self, side: Side) -> Rows:
        """Find entities."""
        return side.matching(ENTITY) if "&" in side.text else np.zeros(0, np.int64)


class Markup(LineCheck):
    """Tags of HTML, XML or subtitles."""

    name = "markup"
    severity = "warning"
    serious = 0.01
    what = "has markup, such as <b>"
    advice = "remove the tags, unless the model is to translate them"

    def rows(self, side: Side) -> Rows:
        """Find tags."""
        return side.matching(MARKUP) if "<" in side.text or "{" in side.text else np.zeros(0, np.int64)


class SubwordMarks(LineCheck):
    """The marks of subword tokenisers."""

    name = "subword-marks"
    severity = "warning"
    serious = 0.01
    what = "has marks of a subword tokeniser, such as @@ or \u2581"
    advice = "give plain text: Dragoman learns its own subwords"

    def rows(self, side: Side) -> Rows:
        """Find marks."""
        marked = any(mark in side.text for mark in ("@@", "▁", "￭"))
        return side.matching(SUBWORDS) if marked else np.zeros(0, np.int64)


ENCODING = (
    ReplacementCharacters,
    Mojibake,
    ControlCharacters,
    Entities,
    Markup,
    SubwordMarks,
    NotComposed,
    InvisibleCharacters,
    OddSpaces,
    OuterSpaces,
    ByteOrderMark,
)
"""All checks of characters."""


def unmade(text: str) -> bool:
    """Tell whether a text has mojibake that becomes letters of a language, or punctuation, when it is decoded again.

    >>> unmade("cafÃ©"), unmade("HÃ¡ Ná»™i"), unmade("IRMÃ »"), unmade("Ã€ la carte")
    (True, True, False, True)
    """
    for match in MOJIBAKE.finditer(text):
        raw = b"".join(_byte(character) for character in match[0])
        found = raw.decode("utf-8", "ignore")
        if found and all(character.isalpha() or "\u00a0" <= character <= "\u203a" for character in found):
            return True
    return False


def _byte(character: str) -> bytes:
    """Return the byte that Windows-1252, or Latin-1 where that has none, reads as a character."""
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:
        return character.encode("latin-1", "ignore")


def mended(text: str) -> str:
    """Return a text with entities resolved, also those that were escaped again, and as Dragoman reads it.

    >>> mended("\\ufeffTom &amp;  Anna&apos;s"), mended("R &amp;amp; amp ; D")
    ("Tom & Anna's", 'R & D')
    """
    before = ""
    while "&" in text and text != before:
        before, text = text, ENTITY.sub(lambda match: html.unescape(match[0].replace(" ", "")), text)
    return normalize(text)
