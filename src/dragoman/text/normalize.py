"""One spelling for each text, so that what looks the same is the same."""

import re
import unicodedata

_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u00ad\ud800-\udfff\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+")
"""Zero-width spaces, byte order marks, soft hyphens, lone surrogates and control characters that separate nothing."""

_RESERVED = str.maketrans({"▁": "_", "▅": "▄", "￭": "■"})
"""Marks that tokenisers use for themselves, and what replaces them in text."""

_HAS_RESERVED = re.compile("[▁▅￭]")


def normalize(text: str, lower: bool = False) -> str:
    """Bring `text` to Unicode NFC with single spaces, no spaces at its ends and no invisible characters.

    Any run of Unicode white space, line breaks included, becomes one space. Three signs that tokenisers keep for
    themselves are replaced by their likes: U+2581 by "_", U+2585 by U+2584, U+FFED by U+25A0. Idempotent.

    >>> normalize("  Cafe\\u0301\\u00a0 ?\\t")
    'Café ?'
    >>> normalize("Ici ÇA va", lower=True)
    'ici ça va'
    """
    text = _INVISIBLE.sub("", text)
    if lower:
        text = text.lower()
    text = unicodedata.normalize("NFC", text)
    if _HAS_RESERVED.search(text):
        text = text.translate(_RESERVED)
    return " ".join(text.split())
