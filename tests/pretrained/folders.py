"""Whole pretrained models as transformers saves them: random weights, and a tokeniser made of the phrasebook."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.pretrained.tokenizer_files import write_fairseq, write_m2m100, write_marian, write_t5

from dragoman.pretrained.job import Imported, import_model
from dragoman.pretrained.language_codes import NLLB

transformers = pytest.importorskip("transformers", reason="compares with transformers, which is not installed")

SMALL: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 128,
    "scale_embedding": True,
}
T5: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2}
Write = Callable[[Path], dict[str, Any]]
FAMILIES: Mapping[str, tuple[Write, str, dict[str, Any]]] = {
    "marian": (write_marian, "MarianMT", {**SMALL, "activation_function": "swish"}),
    "m2m100": (write_m2m100, "M2M100", SMALL),
    "nllb": (lambda folder: write_fairseq(folder, "m2m_100", kind="bpe"), "M2M100", SMALL),
    "mbart50": (lambda folder: write_fairseq(folder, "mbart", kind="unigram"), "MBart", SMALL),
    "pegasus": (lambda folder: write_t5(folder, "pegasus"), "Pegasus", SMALL),
    "t5": (write_t5, "T5", T5),
}
"""How the tokeniser's files are written, the beginning of the names of transformers' classes, and the size of the model."""
TOKENIZERS = {"nllb": "NllbTokenizer", "mbart50": "MBart50Tokenizer"}
"""Families whose tokenisers are distributed as the library saves them."""


def write_model(folder: Path, name: str, *, tokenizer: Mapping[str, Any] | None = None, **config: Any) -> Path:
    """Write a random model of a family; `tokenizer` goes into tokenizer_config.json, keyword arguments into config.json."""
    write, family, size = FAMILIES[name]
    given = write(folder)
    given.pop("tokenizer_class", None)
    if name in TOKENIZERS:
        languages = {"additional_special_tokens": list(NLLB)} if name == "nllb" else {}
        getattr(transformers, TOKENIZERS[name]).from_pretrained(folder, **languages).save_pretrained(folder)
    if tokenizer:
        path = folder / "tokenizer_config.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(known | dict(tokenizer)), encoding="utf-8")
    torch.manual_seed(1)
    ending = "Model" if family == "MarianMT" else "ForConditionalGeneration"
    settings = getattr(transformers, f"{family.removesuffix('MT')}Config")(**{**size, **given, **config})
    model = getattr(transformers, f"{family}{ending}")(settings)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.copy_(parameter + 0.3 * torch.randn(parameter.shape))
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(std=0.3)
    model.generation_config.forced_eos_token_id = None
    model.save_pretrained(folder)
    return folder


NAMED = {"pegasus": ("en", "vi"), "t5": ("en", "vi"), "marian": ("en", "vi")}
"""Languages of the families whose files do not say them."""


class Models:
    """Random models of each family, imported once."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.made: dict[str, tuple[Path, Path, Imported]] = {}

    def __call__(self, name: str) -> tuple[Path, Path, Imported]:
        """Return the folder of a model, its run, and the outcome of its import."""
        if name not in self.made:
            folder, run = write_model(self.place / name, name), self.place / f"{name}-run"
            self.made[name] = folder, run, import_model(str(folder), run, languages=NAMED.get(name, (None, None)))
        return self.made[name]
