"""Write codecs as `tokenizer.json`, the file of Hugging Face's library `tokenizers`, which is not needed for it.

The file has the stages of that library: a normalizer (`text/normalize.py` in terms of its rules), a pre-tokenizer that cuts
at spaces, a model (byte pair encoding or a unigram model), a post-processor that appends </s>, and a decoder.
"""

from collections.abc import Iterator
from typing import Any

from dragoman.text.codec import Codec
from dragoman.text.pieces import SentencePiece
from dragoman.text.tags import language_of
from dragoman.text.vocabulary import SPECIAL
from dragoman.text.words import SPACE, Characters

PAD, BOS, EOS, UNK = SPECIAL

TARGET = "￭"
"""Begins the name of each target token where the target has rows of its own; `normalize` leaves none in text."""
LESS = "▅"
"""Stands for "<" in a unigram model, which would find the names of special tokens in text; `normalize` leaves none there."""

INVISIBLE = r"[\x{200B}\x{2060}\x{FEFF}\x{AD}\x{00}-\x{08}\x{0E}-\x{1B}\x{7F}-\x{84}\x{86}-\x{9F}]"
"""What `normalize` removes; text of this library has no lone surrogates."""
SPACES = r"[\x{09}-\x{0D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+"
"""White space, as Python knows it."""
CASED, IGNORED = r"[\p{Lu}\p{Ll}\p{Lt}]", r"[\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}'‘’.․‧:·]"
"""Letters with a case, and signs that may stand between such letters inside a word."""
FINAL_SIGMA = rf"(?<={'|'.join(CASED + count * IGNORED for count in range(4))})Σ(?!{IGNORED}*{CASED})"
"""A Σ that ends a word, whose small letter is ς (Unicode, section 3.13); up to three other signs may stand before it."""


def tokenizer_json(source: Codec, target: Codec, offset: int) -> dict[str, Any]:
    """Return the content of the file: text becomes ids of `source`, and ids become text of either codec.

    The ids of the target begin at `offset`; with 0 both codecs have the same vocabulary. Its pieces are `SentencePiece` or
    `Characters`.
    """
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(index, name) for index, name in sorted(_added_names(source, offset).items())],
        "normalizer": {"type": "Sequence", "normalizers": list(_normalizers(source))},
        "pre_tokenizer": None if isinstance(source.tokenizer, Characters) else _metaspace(),
        "post_processor": _append_eos(source.special.eos),
        "decoder": _decoder(source),
        "model": _model(source, target, offset),
    }


def tokenizer_config(offset: int, longest: int) -> dict[str, Any]:
    """Return the content of `tokenizer_config.json`, which says how the library `transformers` uses the tokenizer.

    `split_special_tokens` leaves a "</s>" of the user's text as text.
    """
    mark = TARGET if offset else ""
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "bos_token": mark + BOS,
        "eos_token": mark + EOS,
        "unk_token": UNK,
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": longest,
        "padding_side": "right",
    }


def scores(tokenizer: SentencePiece) -> list[float]:
    """Return the score of each piece: of two merges the higher is done first; in a unigram model, a log-probability."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_proto=tokenizer.model)
    return [processor.get_score(index) for index in range(len(processor))]


def is_unigram(codec: Codec) -> bool:
    """Tell whether a codec's tokens are found by a unigram model."""
    return isinstance(codec.tokenizer, SentencePiece) and codec.tokenizer.algorithm == "unigram"


def _names(codec: Codec) -> list[str]:
    """Return the name of each token in the file."""
    special = codec.special.all
    hidden = is_unigram(codec)
    return [
        piece.replace("<", LESS) if hidden and index not in special else piece
        for index, piece in enumerate(codec.tokenizer.vocabulary)
    ]


def _added_names(source: Codec, offset: int) -> dict[int, str]:
    """Return the names of the special tokens, and of the tags of languages, by their ids."""
    found = dict(enumerate(SPECIAL))
    found |= {index: piece for piece, index in source.tokenizer.vocabulary.tags.items() if language_of(piece)}
    if offset:
        found |= {offset + index: TARGET + name for index, name in enumerate(SPECIAL)}
    return found


def _added(index: int, name: str) -> dict[str, Any]:
    """Describe a token that the model never finds itself. A tag is found in text, with the spaces around it."""
    tag = language_of(name) is not None
    around = {"single_word": False, "lstrip": tag, "rstrip": tag, "normalized": False}
    return {"id": index, "content": name, **around, "special": not tag}


def _normalizers(codec: Codec) -> Iterator[dict[str, Any]]:
    """Yield the steps of `text/normalize.py::normalize`, and those that `_names` needs."""
    yield _replace({"Regex": INVISIBLE}, "")
    if codec.lower:
        yield _replace({"Regex": FINAL_SIGMA}, "ς")
        yield {"type": "Lowercase"}
    yield {"type": "NFC"}
    for sign, other in (("▁", "_"), ("▅", "▄"), ("￭", "■")):
        yield _replace({"String": sign}, other)
    if is_unigram(codec):
        yield _replace({"String": "<"}, LESS)
    yield _replace({"Regex": SPACES}, " ")
    yield {"type": "Strip", "strip_left": True, "strip_right": True}
    if isinstance(codec.tokenizer, Characters):
        yield _replace({"String": " "}, SPACE)


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    """Describe a replacement."""
    return {"type": "Replace", "pattern": pattern, "content": content}


def _metaspace() -> dict[str, Any]:
    """Describe how text is cut into words, each with SPACE before it."""
    return {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}


def _append_eos(index: int) -> dict[str, Any]:
    """Describe that </s> follows each sentence, and each of a pair."""
    single, pair = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    end = {"SpecialToken": {"id": EOS, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [single, end],
        "pair": [single, end, pair, end],
        "special_tokens": {EOS: {"id": EOS, "ids": [index], "tokens": [EOS]}},
    }


def _decoder(codec: Codec) -> dict[str, Any]:
    """Describe how tokens become text: as `Codec.join` does."""
    marks = [(TARGET, ""), *([(LESS, "<")] if is_unigram(codec) else []), (SPACE, " ")]
    steps = [_replace({"String": mark}, content) for mark, content in marks]
    spaces = [_replace({"Regex": pattern}, content) for pattern, content in ((" +", " "), ("^ | $", ""))]
    return {"type": "Sequence", "decoders": [*steps, {"type": "Fuse"}, *spaces]}


def _model(source: Codec, target: Codec, offset: int) -> dict[str, Any]:
    """Describe the vocabulary, and how words are cut into tokens of the source; those of the target are never found."""
    tokenizer, names = source.tokenizer, _names(source)
    others = [TARGET + name for name in _names(target)] if offset else []
    if is_unigram(source):
        assert isinstance(tokenizer, SentencePiece) and isinstance(target.tokenizer, SentencePiece)
        pieces = [*zip(names, scores(tokenizer), strict=True), *zip(others, scores(target.tokenizer), strict=False)]
        return {"type": "Unigram", "unk_id": source.special.unk, "vocab": pieces, "byte_fallback": False}
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": UNK,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": isinstance(tokenizer, SentencePiece),
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {name: index for index, name in enumerate([*names, *others])},
        "merges": _merges(source) if isinstance(tokenizer, SentencePiece) else [],
    }


def _merges(codec: Codec) -> list[str]:
    """Return every pair of tokens that together are another one, the one to merge first before the others."""
    assert isinstance(codec.tokenizer, SentencePiece)
    ranks, special = scores(codec.tokenizer), codec.special.all
    pieces = {piece: index for index, piece in enumerate(codec.tokenizer.vocabulary) if index not in special}
    ordered = sorted(pieces, key=lambda piece: -ranks[pieces[piece]])
    halves = ((piece[:cut], piece[cut:]) for piece in ordered for cut in range(1, len(piece)))
    return [f"{left} {right}" for left, right in halves if left in pieces and right in pieces]
