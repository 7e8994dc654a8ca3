"""Positional unknown words, which give the relative position of the source word that they translate."""

import re

_POSITIONAL = re.compile(r"<unk([+-][0-9]+)>")


def positional_pieces(reach: int) -> list[str]:
    """Return the names of unknown words that are translations of a source word at most `reach` positions away.

    The PosUnk model of Luong et al. 2015 ("Addressing the rare word problem in neural machine translation"), section 3.3;
    what has no such source word stays <unk>. No text is ever tokenised into these, so they cannot be mistaken for words.

    >>> positional_pieces(1)
    ['<unk-1>', '<unk+0>', '<unk+1>']
    """
    return [positional_piece(offset) for offset in range(-reach, reach + 1)]


def positional_piece(offset: int) -> str:
    """Return the unknown word at target position j that translates source position j - offset."""
    return f"<unk{offset:+d}>"


def offset_of(piece: str) -> int | None:
    """Return the offset in the name of an unknown word, if there is one.

    >>> offset_of("<unk-3>"), offset_of("<unk>")
    (-3, None)
    """
    found = _POSITIONAL.fullmatch(piece)
    return None if found is None else int(found[1])
