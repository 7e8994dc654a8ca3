"""Find the SentencePiece model of a pretrained model, or make it from the `tokenizer.json` that newer releases write instead."""

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.errors import ImportModelError, shorten
from dragoman.pretrained.folder import TOKENIZER_CONFIG, read_json
from dragoman.text.sentencepiece_models import BPE, CONTROL, NORMAL, UNIGRAM, UNKNOWN, Piece, model_of

TOKENIZER = "tokenizer.json"
"""File of the library `tokenizers` with pieces, rules and special tokens."""
SPACES = (" ", "▁")
"""What white space is replaced by, which SentencePiece does by itself."""


class Added(NamedTuple):
    """A token that was added to a tokeniser: its id, and whether it is no text."""

    id: int
    special: bool


class Segmenter(NamedTuple):
    """A SentencePiece model, its pieces in their order, and whether they are already numbered as the model's embeddings are."""

    model: bytes
    pieces: tuple[str, ...]
    silent: frozenset[str]
    """Pieces that stand for no text."""
    final: bool


def read_segmenter(folder: Path, *names: str) -> Segmenter:
    """Read the SentencePiece model with the first of `names` that exists, or else `tokenizer.json`.

    Raises ImportModelError if there is neither, or it is damaged or of a kind that SentencePiece has not.
    """
    found = next((folder / name for name in names if (folder / name).exists()), None)
    if found is not None:
        return _segmenter(_bytes(found), found, final=False)
    path = folder / TOKENIZER
    if not path.exists():
        raise ImportModelError(
            f"{folder} has no tokeniser: neither {' nor '.join(names)} nor {TOKENIZER} is there; copy the whole folder"
        )
    return _segmenter(_model(read_json(path), path), path, final=True)


def added_tokens(folder: Path) -> dict[str, Added]:
    """Return the tokens that were added to a tokeniser, and all special ones, from whichever files have them."""
    found: dict[str, Added] = {}
    if (folder / TOKENIZER).exists():
        for one in read_json(folder / TOKENIZER).get("added_tokens") or []:
            found[str(one["content"])] = Added(int(one["id"]), bool(one.get("special")))
    if (folder / TOKENIZER_CONFIG).exists():
        for index, one in (read_json(folder / TOKENIZER_CONFIG).get("added_tokens_decoder") or {}).items():
            found[str(one["content"])] = Added(int(index), bool(one.get("special")))
    if (folder / "added_tokens.json").exists():
        for text, index in read_json(folder / "added_tokens.json").items():
            found.setdefault(text, Added(int(index), special=text.startswith("<") or text.startswith("__")))
    return found


def _model(table: Mapping[str, Any], path: Path) -> bytes:
    """Return the SentencePiece model that `tokenizer.json` describes."""
    model = table.get("model") or {}
    special = {str(one["content"]) for one in table.get("added_tokens") or [] if one.get("special")}
    try:
        if isinstance(model.get("vocab"), list) and model.get("unk_id") is not None:
            unknown, scored = int(model["unk_id"]), [(str(text), float(score)) for text, score in model["vocab"]]
            type_ = UNIGRAM
        elif model.get("type") == "BPE" and model.get("unk_token") and not _is_of_bytes(table):
            ordered = sorted(model["vocab"].items(), key=lambda one: int(one[1]))
            unknown = int(model["vocab"][model["unk_token"]])
            ranks, type_ = _ranks(model), BPE
            scored = [(text, -float(ranks.get(text, len(ranks)))) for text, _ in ordered]
        else:
            raise ImportModelError(
                f"{path} is a tokeniser of the kind `{model.get('type')}`, not one of SentencePiece; give a folder with the "
                "original `.model` or `.spm`"
            )
        pieces = [
            Piece(text, score, UNKNOWN if index == unknown else CONTROL if text in special else NORMAL)
            for index, (text, score) in enumerate(scored)
        ]
        return model_of(pieces, type_=type_, rules=b"".join(_rules(table.get("normalizer"), path)))
    except (KeyError, TypeError, ValueError, StopIteration, AttributeError):
        raise ImportModelError(f"{path} is damaged; download it again") from None


def _is_of_bytes(table: Mapping[str, Any]) -> bool:
    """Tell whether a tokeniser cuts bytes, as GPT-2's does."""
    return "ByteLevel" in str(table.get("pre_tokenizer"))


def _ranks(model: Mapping[str, Any]) -> dict[str, int]:
    """Return the first place at which each piece is made, among all merges of byte pair encoding."""
    ranks: dict[str, int] = {}
    for rank, merge in enumerate(model["merges"]):
        ranks.setdefault("".join(merge.split(" ") if isinstance(merge, str) else merge), rank)
    return ranks


def _rules(normalizer: Any, path: Path) -> Iterator[bytes]:
    """Yield the compiled rules of normalisation in a table, if there are any. ImportModelError for what no such rules say."""
    if normalizer is None:
        return
    kind = normalizer["type"]
    if kind == "Precompiled":
        yield base64.b64decode(normalizer["precompiled_charsmap"])
    elif kind == "Sequence":
        for one in normalizer["normalizers"]:
            yield from _rules(one, path)
    elif kind != "Strip" and not (kind == "Replace" and normalizer["content"] in SPACES):
        raise ImportModelError(
            f"{path} changes text by `{shorten(kind)}`, which the rules of SentencePiece do not express; give a folder with the "
            "original `.model` or `.spm`"
        )


def _segmenter(model: bytes, path: Path, *, final: bool) -> Segmenter:
    """Read a serialised SentencePiece model."""
    from sentencepiece import SentencePieceProcessor

    try:
        processor: Any = SentencePieceProcessor(model_proto=model)
        pieces = tuple(processor.id_to_piece(index) for index in range(len(processor)))
    except RuntimeError:
        raise ImportModelError(f"{path} is not a SentencePiece model, or is damaged; download it again") from None
    silent = (piece for index, piece in enumerate(pieces) if processor.is_control(index) or processor.is_unused(index))
    return Segmenter(model, pieces, frozenset(silent), final)


def _bytes(path: Path) -> bytes:
    """Read a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ImportModelError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
