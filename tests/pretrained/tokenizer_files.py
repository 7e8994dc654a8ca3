"""Small tokenisers in the files in which pretrained models have them, made of the phrasebook and odd text."""

import io
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from dragoman.data.corpus import read_pairs
from dragoman.data.settings import DataSettings

ODD = (
    "Cafe\u0301 and Café, nai\u0308ve, \u1e9b\u0323",
    "a\u00a0no-break\u2003space \u3000 wide",
    "zero\u200bwidth\u200djoiner\ufeffmark\u00adsoft\u2060",
    "😀 family 👨‍👩‍👧 flags 🇻🇳",
    "bell\x07 escape\x1b delete\x7f null\x00end",
    "日本語 русский ελληνικά עברית हिन्दी ไทย",
    "two  spaces   three",
    "tab\there",
    "▁ already ▁marked",
    "ﬁne ﬂow ½ ² Ⅳ ｆｕｌｌ　width",
    "a" * 300,
    "x̷̛̖͈̳̱͉̝̜̾͒̈́̓͝y",
    "Ǆ ẞ İ ı ſ",
    "1,000.50 % & # @ <b> </i> ¿? « »",
    "<to fr> is text",
    "",
)
"""Odd text that all read alike."""
ENDS = (" leading", "trailing ", "  both  ", "\ttab\n", " ", "\n")
"""Text with white space at its ends."""
SPECIAL = (
    "</s>",
    "a </s> b",
    "<pad> <unk>",
    "see <s>",
    "say __fr__ now",
    "en_XX",
    "x eng_Latn y",
    "<mask> it",
    "<extra_id_0>",
)
"""Text that spells special tokens."""


@cache
def texts() -> tuple[str, ...]:
    """Return some sentences in two languages."""
    data = DataSettings(
        source="en",
        target="vi",
        train=[{"phrasebook": "train", "pairs": 1500}],
        dev=[{"phrasebook": "test", "pairs": 9}],
    )
    return tuple(text for pair in read_pairs(data.train[0], data) for text in pair[:2])


def sentencepiece(
    lines: Iterable[str], *, size: int = 400, kind: str = "unigram", rule: str = "nmt_nfkc", **options: Any
) -> bytes:
    """Train a SentencePiece model."""
    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=written,
        model_type=kind,
        vocab_size=size,
        normalization_rule_name=rule,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return written.getvalue()


def pieces_of(model: bytes) -> list[str]:
    """Return the pieces of a SentencePiece model."""
    processor = SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(index) for index in range(len(processor))]


def write_marian(folder: Path, languages: Iterable[str] = (), *, apart: bool = False) -> dict[str, Any]:
    """Write the files of Marian with two SentencePiece models and one or two tables of ids; return the settings."""
    folder.mkdir()
    sides = [sentencepiece(texts()[side::2], rule="nmt_nfkc") for side in (0, 1)]
    known = [pieces_of(model)[3:] for model in sides]
    tables = [sorted({*known[0]} if apart else {*known[0], *known[1]})[::-1], sorted(known[1])]
    marks = [f">>{language}<<" for language in languages]
    for name, model in zip(("source.spm", "target.spm"), sides, strict=True):
        (folder / name).write_bytes(model)
    sizes = []
    for name, table in zip(("vocab.json", "target_vocab.json")[: 1 + apart], tables, strict=False):
        order = [
            "</s>",
            "<unk>",
            *(marks if name == "vocab.json" else []),
            *table[: len(table) - 5],
            "<pad>",
        ]  # some are missing
        (folder / name).write_text(json.dumps({piece: index for index, piece in enumerate(order)}), encoding="utf-8")
        sizes.append(len(order))
    config = {
        "model_type": "marian",
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[-1],
        "pad_token_id": sizes[0] - 1,
        "eos_token_id": 0,
        "decoder_start_token_id": sizes[-1] - 1,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps({"separate_vocabs": apart}), encoding="utf-8")
    return config


def write_m2m100(folder: Path) -> dict[str, Any]:
    """Write the files of M2M100."""
    folder.mkdir()
    model = sentencepiece(texts(), kind="bpe")
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    order = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pieces_of(model)[3:-7])]
    (folder / "vocab.json").write_text(
        json.dumps({piece: index for index, piece in enumerate(order)}), encoding="utf-8"
    )
    return {
        "model_type": "m2m_100",
        "vocab_size": len(order) + 108,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
    }


def write_fairseq(folder: Path, family: str, *, kind: str) -> dict[str, Any]:
    """Write the files of NLLB (`m2m_100`) or of mBART-50 (`mbart`)."""
    folder.mkdir()
    model = sentencepiece(texts(), kind=kind)
    (folder / "sentencepiece.bpe.model").write_bytes(model)
    languages = 202 if family == "m2m_100" else 52
    return {
        "model_type": family,
        "tokenizer_class": "NllbTokenizer" if family == "m2m_100" else "MBart50Tokenizer",
        "vocab_size": len(pieces_of(model)) + 1 + languages + 3,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
    }


def write_t5(folder: Path, family: str = "t5", **options: Any) -> dict[str, Any]:
    """Write the files of T5, or of Pegasus."""
    folder.mkdir()
    model = sentencepiece(texts(), pad_id=0, eos_id=1, unk_id=2, bos_id=-1, **options)
    (folder / "spiece.model").write_bytes(model)
    return {
        "model_type": family,
        "vocab_size": len(pieces_of(model)) + (103 if family == "pegasus" else 108),
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
    }
