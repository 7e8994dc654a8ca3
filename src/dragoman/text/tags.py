"""Tags that tell a model of several languages which one to translate into.

Johnson et al. 2017 ("Google's multilingual neural machine translation system: enabling zero-shot translation"), section 3: a
token such as `<2es>` at the start of the source names the language of the target. Here it is `<to es>`: no tokeniser makes a
token with a space in it from text, so a user's "<to es>" or "<2es>" is never taken for a tag, and no tag is ever split, sampled
or normalised away.
"""

import re
from collections.abc import Iterable

_TAG = re.compile(r"<to (\S+)>")


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
