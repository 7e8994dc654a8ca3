"""Vocabularies of imported models: pieces that a SentencePiece model finds, under the ids of another toolkit.

Text is normalised by the rules inside the SentencePiece model and no others, as when the model was trained. Three things differ
from the tokenisers of the library `transformers`, which read more into a text than its words (its version 5.23.0):

- Names of special tokens in a text (`</s>`, `<pad>`, `__fr__`) stay text. There they end the sentence or change its language.
- A piece of text is never a special token or a language, even if a table of ids has a token that is spelled so.
- White space at the ends of a text is dropped, and bytes are read where the model has pieces for them, as SentencePiece itself
  does; the tokenisers written in Rust (NLLB, mBART-50, Pegasus, T5) keep a space, and make bytes unknown.
"""

import base64
import random
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dragoman.errors import TextError
from dragoman.special_ids import SpecialIds
from dragoman.text.frames import Frames
from dragoman.text.vocabulary import Vocabulary

SPACE = "▁"
"""A space, at the start of a piece."""

_UNENCODABLE = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which no UTF-8 can hold."""

_TYPED = re.compile(r">>[^<>\s]+<<")
"""A language as Marian's users write it before a sentence."""


@dataclass(frozen=True)
class Table:
    """What an imported vocabulary is made of besides its SentencePiece model."""

    pieces: tuple[str, ...]
    """All tokens, in the order of their ids."""
    special: SpecialIds
    silent: frozenset[int] = frozenset()
    """Ids that stand for no text: control tokens, languages, rows that are not used."""
    tags: Mapping[str, int] = field(default_factory=dict)
    """The ids of languages, by the names of Dragoman's tags."""
    frames: Frames = field(default_factory=Frames)
    """What surrounds a source."""
    starts: Frames = field(default_factory=Frames)
    """What a target begins with, after the token that the decoder starts with."""


class Imported:
    """Pieces of a SentencePiece model, each with the id that a table gives to it. TextError if `model` is not such a model."""

    def __init__(self, model: bytes, table: Table) -> None:
        from sentencepiece import SentencePieceProcessor

        self.model = model
        self.table = table
        self.vocabulary = Vocabulary(table.pieces, table.special, table.tags)
        try:
            self._processor: Any = SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise TextError("this is not a SentencePiece model") from None
        kept = {table.special.pad, table.special.bos, table.special.eos, table.special.unk, *table.silent}
        self._ids = {piece: index for index, piece in enumerate(table.pieces) if index not in kept}
        self._silent = {table.pieces[index] for index in table.silent}
        self._typed = {
            piece: index for index in table.tags.values() if _TYPED.fullmatch(piece := table.pieces[index]) is not None
        }

    def __reduce__(self) -> tuple[Callable[..., "Imported"], tuple[bytes, Table]]:
        return Imported, (self.model, self.table)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of `text`, as it was written."""
        unknown = self.table.special.unk
        tags, pieces = self._cut(text)
        return [self._typed[tag] for tag in tags] + [self._ids.get(piece, unknown) for piece in pieces]

    def split(self, text: str) -> list[str]:
        """Return the tokens of `text`, unknown ones as text, one for each id of `encode`."""
        tags, pieces = self._cut(text)
        return tags + pieces

    def sample(self, text: str, rng: random.Random, rate: float) -> list[int]:
        """Return `encode(text)` for a rate of 0. TextError for any other: the merges behind a table of ids are not known."""
        if rate > 0:
            raise TextError(
                "the vocabulary is that of an imported model, which cannot be sampled from; set `text.sampling` and "
                "`text.sampling_target` to 0"
            )
        return self.encode(text)

    def normalize(self, text: str) -> str:
        """Return `text` as it would be decoded if all its pieces were known."""
        return " ".join("".join(self.surfaces(self.split(text))).split())

    def surfaces(self, pieces: Sequence[str]) -> list[str]:
        """Return the text of each token, including spaces; that of a character written in bytes belongs to its last byte."""
        decoder = getincrementaldecoder("utf-8")("replace")
        found: list[str] = []
        for piece in pieces:
            if piece in self.byte_pieces:
                found.append(decoder.decode(bytes([self.byte_pieces[piece]])))
            else:
                unfinished = decoder.decode(b"", final=True)
                found.append(unfinished + ("" if piece in self._silent else piece.replace(SPACE, " ")))
        if found:
            found[-1] += decoder.decode(b"", final=True)
        return found

    def finds(self, piece: str) -> bool:
        """Tell whether the SentencePiece model has a piece, so that it finds it in text."""
        return bool(self._processor.piece_to_id(piece) != self._processor.unk_id())

    def _cut(self, text: str) -> tuple[list[str], list[str]]:
        """Return the language that is written before a text as a token, if it is a known one, and the pieces of the text."""
        text, tags = _UNENCODABLE.sub("", text), list[str]()
        begun = _TYPED.match(text) if self._typed else None
        if begun is not None and begun[0] in self._typed:
            tags, text = [begun[0]], text[begun.end() :]
        return tags, self._processor.encode(text, out_type=str)

    @cached_property
    def byte_pieces(self) -> dict[str, int]:
        """Return the byte of each piece that stands for one."""
        processor = self._processor
        return {
            piece: int(piece[1:-1], 16)
            for index in range(len(processor))
            if processor.is_byte(index) and (piece := processor.id_to_piece(index))
        }


def describe(imported: Imported) -> dict[str, Any]:
    """Return the complete description of an imported vocabulary, ready for JSON."""
    table, special = imported.table, imported.table.special
    return {
        "kind": "imported",
        "model": base64.b64encode(imported.model).decode("ascii"),
        "pieces": list(table.pieces),
        "special": {name: getattr(special, name) for name in _SPECIAL},
        "silent": sorted(table.silent),
        "tags": dict(table.tags),
        "frames": table.frames.table(),
        "starts": table.starts.table(),
    }


_SPECIAL = ("pad", "bos", "eos", "unk", "mask")
"""Names of the special ids that are written; tags are written by their names."""


def build(described: Mapping[str, Any]) -> Imported:
    """Make what `describe` described. KeyError, TypeError, ValueError or TextError if it describes none."""
    pieces, special, tags = described["pieces"], described["special"], described["tags"]
    whole = [*(special[name] for name in _SPECIAL), *described["silent"], *tags.values()]
    if not all(type(one) is int and 0 <= one < len(pieces) for one in whole):
        raise ValueError("ids")
    if not all(isinstance(piece, str) for piece in (*pieces, *tags)):
        raise TypeError("pieces")
    frames, starts = Frames.read(described["frames"]), Frames.read(described["starts"])
    ids = SpecialIds(**{name: special[name] for name in _SPECIAL})
    table = Table(tuple(pieces), ids, frozenset(described["silent"]), dict(tags), frames, starts)
    return Imported(base64.b64decode(described["model"], validate=True), table)
