"""Convert the text of one language to ids and back."""

import base64
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args, runtime_checkable

from dragoman.atomic import write_text
from dragoman.errors import InputError, TextError
from dragoman.json_files import read_object
from dragoman.special_ids import SpecialIds
from dragoman.text import imported
from dragoman.text.frames import Between, Frame, Frames
from dragoman.text.imported import Imported
from dragoman.text.normalize import normalize
from dragoman.text.pieces import Algorithm, SentencePiece, learn_pieces
from dragoman.text.settings import (
    CharactersSettings,
    ImportedSettings,
    SentencePieceSettings,
    TextSettings,
    WordsSettings,
)
from dragoman.text.tags import MARKS, language_of, refusal, tag_piece
from dragoman.text.unknown import positional_piece
from dragoman.text.vocabulary import SPECIAL, Vocabulary
from dragoman.text.words import Characters, Words, learn_characters, learn_words, word_numbers

NEWEST_FORMAT = 3
"""Version of the files that `Codec.save` writes for vocabularies with inline casing, the newest that is read."""
FORMAT = 2
"""Version for imported vocabularies."""
OWN_FORMAT = 1
"""Version for all others, which older releases read too."""

Pairs = Callable[[], Iterable[tuple[str, str]]]
"""Iterates over a corpus from the start: source and target of each pair."""

Item = TypeVar("Item")
"""A token, or what belongs to one."""


@runtime_checkable
class Tokenizer(Protocol):
    """Segments normalised text into the tokens of a vocabulary, and joins tokens to text; imported ones normalise themselves."""

    vocabulary: Vocabulary

    def encode(self, text: str) -> list[int]:
        """Return the token ids of `text`."""
        ...

    def split(self, text: str) -> list[str]:
        """Return the tokens of `text`, unknown ones as text, one for each id of `encode`."""
        ...

    def sample(self, text: str, rng: random.Random, rate: float) -> list[int]:
        """Segment `text` at random; a higher rate means less similar to `encode`."""
        ...

    def surfaces(self, pieces: Sequence[str]) -> list[str]:
        """Return the text of each token, including spaces."""
        ...


class Codec:
    """Turns text into ids and ids into text.

    `decode(encode(text)) == normalize(text, lower)` for every text whose tokens are known. Codecs with equal fingerprints
    are equal. With `right_to_left`, tokens are in reverse order, wherever they are in a row: the last one of the text first.
    """

    def __init__(self, tokenizer: Tokenizer, *, lower: bool = False, right_to_left: bool = False) -> None:
        self.tokenizer = tokenizer
        self.lower = lower
        self.right_to_left = right_to_left
        self.fingerprint: str = _fingerprint(_describe(self))

    @property
    def special(self) -> SpecialIds:
        """Return the ids of the vocabulary's special tokens."""
        return self.tokenizer.vocabulary.special

    def __len__(self) -> int:
        return len(self.tokenizer.vocabulary)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Codec) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def shares(self, other: "Codec") -> bool:
        """Tell whether another codec has the same ids for the same tokens, perhaps in the other direction.

        Imported ones may still cut text in two ways, as the two SentencePiece models of Marian do.
        """
        if isinstance(self.tokenizer, Imported) and isinstance(other.tokenizer, Imported):
            return self.tokenizer.table.pieces == other.tokenizer.table.pieces
        return self.directed(False) == other.directed(False)

    def directed(self, right_to_left: bool) -> "Codec":
        """Return the codec with the same vocabulary in a direction."""
        if right_to_left == self.right_to_left:
            return self
        return Codec(self.tokenizer, lower=self.lower, right_to_left=right_to_left)

    def ordered(self, tokens: Sequence[Item]) -> list[Item]:
        """Put tokens, or what belongs to each, from the order of the text into that of the ids, or back."""
        return list(tokens[::-1] if self.right_to_left else tokens)

    def normalize(self, text: str) -> str:
        """Return `text` as it will be decoded."""
        return self.tokenizer.normalize(text) if isinstance(self.tokenizer, Imported) else normalize(text, self.lower)

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`, without BOS and EOS."""
        return self.ordered(self.tokenizer.encode(self._prepared(text)))

    def encode_inside(self, text: str) -> list[int]:
        """Return the ids of `text` inside a sentence, where inline casing leaves its first word as it is."""
        encode = getattr(self.tokenizer, "encode_inside", self.tokenizer.encode)
        return self.ordered(encode(self._prepared(text)))

    def _prepared(self, text: str) -> str:
        """Return `text` as the tokeniser expects it."""
        return text if isinstance(self.tokenizer, Imported) else self.normalize(text)

    def frame(self, between: Between | None) -> Frame:
        """Return what a source has around it that is to be translated between two languages; nothing for None.

        Raises TextError for languages that the vocabulary does not know.
        """
        if isinstance(self.tokenizer, Imported):
            return self.frames.of(between)
        return Frame() if between is None else Frame(tuple(self.tag(between.target)))

    def frame_of(self, ids: Sequence[int]) -> Frame:
        """Return what a source has around it."""
        if isinstance(self.tokenizer, Imported):
            return self.frames.around(ids)
        return Frame(tuple(self.leading_tags(ids)))

    def framed(self, text: str, between: Between | None) -> list[int]:
        """Return the ids of a text with what a source has around it. Raises TextError as `frame` does."""
        return self.frame(between).around(self.encode(text))

    def start(self, between: Between | None) -> tuple[int, ...]:
        """Return what a target begins with, after BOS, if it translates between two languages: the code of its language, say.

        It is given to a search and is no part of its result. Raises TextError for languages that the vocabulary does not know.
        """
        return self.starts.of(between).before

    @property
    def frames(self) -> Frames:
        """Return what surrounds sources between some languages, if the vocabulary is imported; nothing for others."""
        return self.tokenizer.table.frames if isinstance(self.tokenizer, Imported) else Frames()

    @property
    def starts(self) -> Frames:
        """Return what targets in some languages begin with, if the vocabulary is imported; nothing for others."""
        return self.tokenizer.table.starts if isinstance(self.tokenizer, Imported) else Frames()

    def tag(self, language: str | None) -> list[int]:
        """Return the ids that ask for a translation into `language`, which go before a source: its tag; none for None.

        Raises TextError if the vocabulary has no tag of the language.
        """
        return [] if language is None else self.tags([tag_piece(language)])

    def tags(self, pieces: Sequence[str]) -> list[int]:
        """Return the ids of tags (`text/tags.py`). Raises TextError for the first that the vocabulary does not have."""
        known = self.tokenizer.vocabulary.tags
        missing = next((piece for piece in pieces if piece not in known), None)
        if missing is not None:
            raise TextError(refusal(missing, known))
        return [known[piece] for piece in pieces]

    def check_tags(self, pieces: Sequence[str]) -> None:
        """Raise TextError for the first tag that no source can begin with; an imported vocabulary has frames for languages."""
        self.tags([piece for piece in pieces if not self.frames or language_of(piece) is None])

    def leading_tags(self, ids: Sequence[int]) -> list[int]:
        """Return the tags that a source begins with."""
        marks = self.marks
        return list(takewhile(lambda index: index in self.special.tags and index not in marks, ids))

    @property
    def marks(self) -> tuple[int, ...]:
        """Return the ids of the marks before and after a translation in a source; none if the vocabulary has none."""
        known = self.tokenizer.vocabulary.tags
        return tuple(known[mark] for mark in MARKS if mark in known)

    def sample(self, text: str, rng: random.Random, rate: float) -> list[int]:
        """Return the ids of a random segmentation of `text`, which depends only on `rng`; a rate of 0 gives `encode(text)`.

        Byte pair encoding: `rate` is the probability that a merge is dropped. Unigram: it is a temperature. Words and
        characters have only one segmentation.
        """
        return self.ordered(self.tokenizer.sample(self._prepared(text), rng, rate))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids` before the first EOS, without PAD, BOS and tags; an unknown token becomes "<unk>"."""
        special = self.special
        before_end = ids[: list(ids).index(special.eos)] if special.eos in ids else ids
        return self.join(self.pieces([index for index in before_end if index not in special.unwritten]))

    def split(self, text: str) -> list[str]:
        """Return the tokens of `text`, one for each id of `encode(text)`; unknown ones as text."""
        return self.ordered(self.tokenizer.split(self._prepared(text)))

    def join(self, pieces: Sequence[str]) -> str:
        """Join tokens, in the vocabulary or not, to text: `join(split(text)) == normalize(text)`."""
        return " ".join("".join(self.tokenizer.surfaces(self.ordered(pieces))).split())

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the token of each id, special ones by their names."""
        return [self.tokenizer.vocabulary.piece(index) for index in ids]

    def words(self, text: str) -> list[str]:
        """Return the words of normalised `text`, split at spaces."""
        return self.normalize(text).split()

    def piece_words(self, ids: Sequence[int]) -> list[int]:
        """Return for each id which space-separated word of the text it belongs to, counted from 0.

        PAD, BOS, EOS and tags belong to none: -1. A token that is only a space belongs to the next word.
        """
        of_no_word = (*self.special.unwritten, self.special.eos)
        real = [index for index in ids if index not in of_no_word]
        owners = iter(self._owners(self.pieces(real)))
        return [-1 if index in of_no_word else next(owners) for index in ids]

    def owners(self, text: str) -> list[int]:
        """Return for each token of `split(text)` which space-separated word of the text it belongs to, counted from 0."""
        return self._owners(self.split(text))

    def _owners(self, pieces: Sequence[str]) -> list[int]:
        """Return for each token, in the order of the ids, which word of the text it belongs to."""
        return self.ordered(word_numbers(self.tokenizer.surfaces(self.ordered(pieces))))

    @property
    def positional(self) -> bool:
        """Tell whether unknown words may be positional."""
        return self.tokenizer.vocabulary.id(positional_piece(0)) != self.special.unk

    def save(self, folder: Path, name: str) -> None:
        """Write `name`.json into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / f"{name}.json", self.to_json())

    def to_json(self) -> str:
        """Return the text of the file that `load` reads."""
        casing = isinstance(self.tokenizer, SentencePiece) and self.tokenizer.inline_casing
        written = NEWEST_FORMAT if casing else FORMAT if isinstance(self.tokenizer, Imported) else OWN_FORMAT
        table = {"format": written, "fingerprint": self.fingerprint, **_describe(self)}
        return json.dumps(table, ensure_ascii=False, indent=0) + "\n"

    @classmethod
    def load(cls, folder: Path, name: str) -> "Codec":
        """Read what `save` wrote. Raises TextError if the file is missing, damaged or newer than this program."""
        path = folder / f"{name}.json"
        table = _read(path)
        try:
            codec = _build(table)
        except (KeyError, TypeError, ValueError, TextError):
            raise TextError(f"{path} is damaged; restore it from an intact copy") from None
        if codec.fingerprint != table.get("fingerprint"):
            raise TextError(f"{path} has been changed since it was written; restore it from an intact copy")
        return codec


def encode_within(
    codec: Codec,
    sentences: Sequence[str],
    bound: int | None,
    *,
    name: str = "sentence",
    first: int = 1,
    languages: Sequence[Between | None] | None = None,
    limit: str = "positions of this model; split it, or train with a larger model.max_positions",
) -> list[list[int]]:
    """Return the ids of sentences; InputError names one of more than `bound` tokens with EOS, counted from `first`.

    `limit` says what sets the bound, and what to do. Where `languages` are given, each sentence that is not empty gets its own
    frame.
    """
    encoded = [codec.encode(sentence) for sentence in sentences]
    if languages is not None:
        rows = zip(languages, encoded, strict=True)
        encoded = [codec.frame(between).around(ids) if ids else ids for between, ids in rows]
    for number, ids in enumerate(encoded, first):
        length = len(codec.special.ended(ids))
        if bound is not None and length > bound:
            raise InputError(f"{name} {number} has {length} tokens (with </s>), more than the {bound} {limit}")
    return encoded


def learn_codecs(settings: TextSettings, pairs: Pairs, tags: Sequence[str] = ()) -> tuple[Codec, Codec]:
    """Learn the codecs of source and target from a corpus; if `settings.joint`, both have the same vocabulary.

    `tags` are reserved in the source's vocabulary. The corpus is read once for a joint vocabulary and twice otherwise.
    Raises TextError if the text does not allow the requested vocabulary.
    """
    if settings.joint:
        codec = learn_codec(settings, chain.from_iterable(pairs()), tags)
        return codec, codec.directed(settings.right_to_left)
    source = learn_codec(settings, (source for source, _ in pairs()), tags)
    return source, learn_codec(settings, (target for _, target in pairs())).directed(settings.right_to_left)


def learn_codec(settings: TextSettings, texts: Iterable[str], tags: Sequence[str] = ()) -> Codec:
    """Learn one codec from texts, with `tags` reserved. Raises TextError if they do not allow the requested vocabulary."""
    normalized = (normalize(text, settings.lower) for text in texts)
    match settings:
        case SentencePieceSettings():
            return Codec(learn_pieces(normalized, settings, tags), lower=settings.lower)
        case WordsSettings():
            return Codec(learn_words(normalized, settings, tags), lower=settings.lower)
        case CharactersSettings():
            return Codec(learn_characters(normalized, settings, tags), lower=settings.lower)
        case ImportedSettings():
            raise TextError(
                "`text.kind: imported` means the vocabularies of an imported run, but `model.start_from` names none; add it"
            )


def _describe(codec: Codec) -> dict[str, Any]:
    """Return the complete description of a codec, ready for JSON."""
    tokenizer = codec.tokenizer
    common = {"lower": codec.lower} | ({"right_to_left": True} if codec.right_to_left else {})
    if isinstance(tokenizer, Imported):
        return {**common, **imported.describe(tokenizer)}
    if isinstance(tokenizer, SentencePiece):
        model = base64.b64encode(tokenizer.model).decode("ascii")
        common |= {"inline_casing": True} if tokenizer.inline_casing else {}
        return {"kind": "sentencepiece", **common, "algorithm": tokenizer.algorithm, "model": model}
    kind = "words" if isinstance(tokenizer, Words) else "characters"
    return {"kind": kind, **common, "pieces": list(tokenizer.vocabulary)[len(SPECIAL) :]}


def _build(table: dict[str, Any]) -> Codec:
    """Make the codec that `_describe` described. KeyError, TypeError, ValueError or TextError if it describes none."""
    if not isinstance(table["lower"], bool):
        raise TypeError("lower")
    options: dict[str, bool] = {"lower": table["lower"], "right_to_left": table.get("right_to_left") is True}
    match table["kind"]:
        case "imported":
            return Codec(imported.build(table), **options)
        case "sentencepiece":
            if table["algorithm"] not in get_args(Algorithm):
                raise ValueError(table["algorithm"])
            model, casing = base64.b64decode(table["model"], validate=True), table.get("inline_casing") is True
            return Codec(SentencePiece(model, table["algorithm"], inline_casing=casing), **options)
        case "words" | "characters" as kind:
            made = Words if kind == "words" else Characters
            return Codec(made(Vocabulary(_texts(table["pieces"]))), **options)
    raise ValueError(table["kind"])


def _texts(pieces: object) -> list[str]:
    """Return a list of texts. Raises TypeError if it is another thing, UnicodeEncodeError if one could not be written."""
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise TypeError("pieces")
    "".join(pieces).encode("utf-8")
    return pieces


def _fingerprint(description: dict[str, Any]) -> str:
    """Hash a description."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode("ascii")).hexdigest()[:32]


def _read(path: Path) -> dict[str, Any]:
    """Read the table in a codec's file."""
    missing = f"there is no tokeniser {path}; give the folder of a trained run"
    table = read_object(path, TextError, missing=missing, damaged="restore it from an intact copy")
    if not isinstance(table.get("format"), int):
        raise TextError(f"{path} is not a tokeniser; give the folder of a trained run")
    if table["format"] > NEWEST_FORMAT:
        raise TextError(f"{path} was written by a newer Dragoman; update this one to read it")
    return table
