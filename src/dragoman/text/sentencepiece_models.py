"""SentencePiece models as bytes, in the format of Protocol Buffers (sentencepiece_model.proto): made of pieces, or given more."""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5
"""Types of pieces in SentencePiece's format (sentencepiece_model.proto)."""
UNIGRAM, BPE = 1, 2
"""Types of models in the same format."""


class Piece(NamedTuple):
    """A token of a SentencePiece model."""

    text: str
    score: float
    type: int = NORMAL


def model_of(pieces: Sequence[Piece], *, type_: int, rules: bytes = b"") -> bytes:
    """Return a serialised SentencePiece model of some pieces, with compiled `rules` of normalisation.

    It puts a space before the text, and drops superfluous ones, as all models of the families here do.
    """
    unknown = next(index for index, piece in enumerate(pieces) if piece.type == UNKNOWN)
    trainer = _number(3, type_) + _number(40, unknown)
    normalizer = _field(1, b"precompiled" if rules else b"identity") + (_field(2, rules) if rules else b"")
    normalizer += _number(3, 1) + _number(4, 1) + _number(5, 1)
    return b"".join(_field(1, _piece(one)) for one in pieces) + _field(2, trainer) + _field(3, normalizer)


def with_pieces(model: bytes, characters: Sequence[str], controls: Sequence[str] = ()) -> bytes:
    """Return a SentencePiece model with single characters, and with tokens that are never found in text, after its own pieces.

    A repeated field may go on anywhere, so the new pieces follow the old bytes. A character scores as the worst piece does, so
    that a unigram model cuts all other text as before.
    """
    from sentencepiece import SentencePieceProcessor

    processor: Any = SentencePieceProcessor(model_proto=model)
    worst = min(processor.get_score(index) for index in range(len(processor)))
    more = [*(Piece(one, worst) for one in characters), *(Piece(one, 0.0, CONTROL) for one in controls)]
    return model + b"".join(_field(1, _piece(one)) for one in more)


def _piece(piece: Piece) -> bytes:
    """Serialise a token."""
    return _field(1, piece.text.encode("utf-8")) + b"\x15" + struct.pack("<f", piece.score) + _number(3, piece.type)


def _field(number: int, content: bytes) -> bytes:
    """Serialise a field of bytes in the format of Protocol Buffers."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    """Serialise a field with a number of at least 0."""
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    """Serialise a number in groups of 7 bits, the lowest first.

    >>> _varint(300).hex()
    'ac02'
    """
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
