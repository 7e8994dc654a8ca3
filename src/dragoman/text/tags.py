"""Tags: tokens of sources that no text has: the language to translate into, that a machine wrote it, marks of annotations.

Johnson et al. 2017 ("Google's multilingual neural machine translation system: enabling zero-shot translation"), section 3: a
token such as `<2es>` at the start of the source names the language of the target. Here it is `<to es>`: no tokeniser makes a
token with a space in it from text, so a user's "<to es>" or "<2es>" is never taken for a tag, and no tag is ever split, sampled
or normalised away.
"""

import re
from collections.abc import Iterable, Mapping

from dragoman.text.frames import shortened

_TAG = re.compile(r"<to (\S+)>")

SYNTHETIC = "<synthetic source>"
"""The tag of sources that a model wrote, after that of the language: tagged back-translation (Caswell et al. 2019)."""

NOISED = "<noised source>"
"""The tag of sources that are sentences of the target language with words missing (`data/noise.py`)."""

MARKS = ("<begin translation>", "<end translation>")
"""What stands before and after a translation in a source, which takes the place of a term (`text/annotations.py`)."""


def tag_piece(language: str) -> str:
    """Return the token that asks for a translation into `language`.

    >>> tag_piece("fr")
    '<to fr>'
    """
    return f"<to {language}>"


def tag_pieces(languages: Iterable[str]) -> list[str]:
    """Return the tags of several languages, in their order."""
    return [tag_piece(language) for language in languages]


def language_of(piece: str) -> str | None:
    """Return the language that a token asks for; None for any other token.

    >>> language_of("<to fr>"), language_of("<to"), language_of("<2fr>")
    ('fr', None, None)
    """
    found = _TAG.fullmatch(piece)
    return None if found is None else found[1]


def is_tag(piece: str) -> bool:
    """Tell whether a token is a tag.

    >>> is_tag(SYNTHETIC), is_tag("<to fr>"), is_tag("<s>")
    (True, True, False)
    """
    return piece in (SYNTHETIC, NOISED, *MARKS) or language_of(piece) is not None


def refusal(piece: str, known: Mapping[str, int]) -> str:
    """Return what is wrong with a vocabulary of the tags `known` that lacks one, and what to do."""
    language, languages = language_of(piece), [name for name in map(language_of, known) if name is not None]
    if piece in MARKS:
        return (
            "the vocabulary has no marks of terms, because it is that of another run; remove `text.glossary`, or start without "
            "that run"
        )
    if piece == NOISED:
        return (
            "the vocabulary has no tag of noised sources, because it is that of another run; remove the corpora with "
            "`noised: true`, or start without that run"
        )
    if language is None:
        return (
            "the vocabulary has no tag of sources that a machine wrote, because it is that of another run; remove "
            "`tagged: true` from the corpora, or start without that run"
        )
    others = f"only of {shortened(languages)}" if languages else "nor of any other language"
    return f"the vocabulary has no tag of `{language}`, {others}; learn it from a recipe whose `data.languages` has them all"
