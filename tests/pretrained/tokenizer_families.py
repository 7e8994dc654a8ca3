"""Families of pretrained tokenisers, here and in transformers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor
from tests.pretrained.tokenizer_files import write_fairseq, write_m2m100, write_marian, write_t5

from dragoman.pretrained.tokenizers import load_codecs

transformers = pytest.importorskip("transformers")
QUIET = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
"""What transformers says where it loads a tokeniser of Marian."""

Writer = Callable[[Path], dict[str, Any]]
FAMILIES: dict[str, tuple[Writer, str]] = {
    "marian": (write_marian, "MarianTokenizer"),
    "m2m100": (write_m2m100, "M2M100Tokenizer"),
    "nllb": (lambda folder: write_fairseq(folder, "m2m_100", kind="bpe"), "NllbTokenizer"),
    "mbart50": (lambda folder: write_fairseq(folder, "mbart", kind="unigram"), "MBart50Tokenizer"),
    "pegasus": (lambda folder: write_t5(folder, "pegasus"), "PegasusTokenizer"),
    "t5": (write_t5, "T5Tokenizer"),
}
WRITTEN_IN_RUST = ("nllb", "mbart50", "pegasus", "t5")


class Family:
    """A family's codecs and its own tokeniser."""

    def __init__(self, name: str, folder: Path) -> None:
        write, own = FAMILIES[name]
        self.name, self.folder = name, folder / name
        self.config = write(self.folder)
        self.source, self.target = load_codecs(self.folder, self.config)
        self.original: Any = getattr(transformers, own).from_pretrained(self.folder)

    def ids(self, text: str) -> list[int]:
        """Return the ids that the library finds."""
        return list(self.original(text, add_special_tokens=False).input_ids)

    def by_rule(self, text: str) -> list[int]:
        """Return the ids by the rule of the family: those of SentencePiece, moved."""
        (path,) = (*self.folder.glob("*.model"),)
        processor = SentencePieceProcessor(model_file=str(path))
        if self.name == "m2m100":
            table = json.loads((self.folder / "vocab.json").read_text(encoding="utf-8"))
            return [table.get(piece, 3) for piece in processor.encode(text, out_type=str)]
        move = {"nllb": 1, "mbart50": 1, "pegasus": 103, "t5": 0}[self.name]
        return [3 if move == 1 and index == 0 else index + move for index in processor.encode(text)]
