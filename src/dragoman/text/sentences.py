"""Documents split into sentences."""

import re

from dragoman.text.normalize import normalize

_MARKS = re.compile(r"\\n|<eos>")
"""Separators of sentences in text that is already split."""

_ENDS = re.compile(r"(\w*)([.!?…]+[\"'”’»)\]]*) (?=(\S))|[。！？]+[”’」』）]* ?")
"""Signs that may end a sentence: those that need a space after them, with the word before and the sign behind; and the others."""


def split_sentences(text: str) -> list[str]:
    """Split a normalised document into sentences, none of them empty.

    If the text contains marks, `<eos>` or a backslash with n, it is split only there. Otherwise a sentence ends with
    ".", "!", "?" or "…", closing quotes and brackets included, before a space that no small letter follows; the point after
    a single capital, as in "J. Smith", ends none. "。", "！" and "？" need no space. "Mr. Smith" is split after "Mr.".

    >>> split_sentences('He left. "Why?" asked J. Smith. Nobody knew...')
    ['He left.', '"Why?" asked J. Smith.', 'Nobody knew...']
    >>> split_sentences("no. good <eos> Yes. No.")
    ['no. good', 'Yes. No.']
    """
    text = normalize(text)
    parts = _MARKS.split(text) if _MARKS.search(text) else _ENDS.sub(_end, text).split("\n")
    return [part.strip() for part in parts if part.strip()]


def _end(found: re.Match[str]) -> str:
    """Put a line break after signs that end a sentence."""
    word, signs, following = found.groups()
    if signs is None:
        return found[0].strip() + "\n"
    initial = signs == "." and len(word) == 1 and word.isupper()
    return found[0] if initial or following.islower() else f"{word}{signs}\n"
