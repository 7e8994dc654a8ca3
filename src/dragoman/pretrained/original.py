"""Hand an imported run back as what it was: the same files, and the weights that the run has by now."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import device

from dragoman.atomic import give_usual_mode
from dragoman.data.checksums import Checksums
from dragoman.errors import ExportError
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.pretrained.families import Description, describe
from dragoman.pretrained.folder import CONFIG, SAFETENSORS, is_kept, read_json
from dragoman.pretrained.tokenizers import unused
from dragoman.pretrained.weights import from_state
from dragoman.runs.folder import GROWN, ORIGINAL, Run
from dragoman.text.imported import Imported
from dragoman.training.checkpoint import own_tensors

CARD = "README.md"
"""The model card."""
CHANGED = (
    "## Changes\n\nThis is no longer the original: Dragoman trained it further or gave it new tokens, and exported it with "
    "`dragoman export --to huggingface`. Scores and training data in this card are those of the original.\n"
)
"""What the card of a changed model says at its end: most licences ask for it, and the rest would be taken for its own."""
CHANGES = frozenset({"start_from", "merged"})
"""Entries of the manifest of a run that was trained further, or whose adapters were."""
HALVES: Mapping[str, torch.dtype] = {"float16": torch.float16, "bfloat16": torch.bfloat16}
"""Types in which a model takes half of the space, by their names in a configuration."""
TYPES = ("dtype", "torch_dtype")
"""Entries of a configuration with the type of the weights; libraries of different ages read different ones."""


def is_original(run: Run) -> bool:
    """Tell whether the weights of a run once came from a pretrained model."""
    return ORIGINAL in run.manifest


def write_original(run: Run, folder: Path) -> None:
    """Write an imported run, or one that started from it, into an empty folder in the form that it was imported from.

    The weights have the type that they had, if that changes none of them, otherwise float32. A run that has grown has its new
    tokens in the files of its tokeniser. Raises ExportError for a model in Marian's own form, which only Marian can write, and
    for one that has grown and is of a family whose tokeniser could not give these ids.
    """
    about, kept = run.manifest[ORIGINAL], run.folder / ORIGINAL
    if about.get("raw"):
        raise ExportError(
            f"{run.folder} was imported from Marian's own form, whose position embeddings `transformers` computes differently; "
            f"{_instead(run)}"
        )
    _check_kept(kept, about["files"])
    config = read_json(kept / CONFIG)
    grown = _larger(run, config)
    if grown:
        config |= {"vocab_size": len(run.source), "decoder_vocab_size": len(run.target)}
    tensors = from_state(own_tensors(run.load_model(device("cpu"))), description_of(run, config))
    said = next((str(config[entry]) for entry in TYPES if config.get(entry) is not None), "float32")
    name = str(about.get("dtype") or said)
    rounded = {one: tensor.to(HALVES.get(name, torch.float32)) for one, tensor in tensors.items()}
    exact = all(torch.equal(rounded[one].float(), tensor) for one, tensor in tensors.items())
    save_file(rounded if exact else tensors, folder / SAFETENSORS, {"format": "pt"})
    give_usual_mode(folder / SAFETENSORS)
    for path in kept.iterdir():
        shutil.copyfile(path, folder / path.name)
    for written, content in grown.items():
        (folder / written).write_bytes(content)
    if grown or not CHANGES.isdisjoint(run.manifest):
        say_changed(folder / CARD)
    halved = not exact and said in HALVES
    if halved or grown:
        table = config | ({entry: "float32" for entry in TYPES if entry in config} if halved else {})
        (folder / CONFIG).write_text(json.dumps(table, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def say_changed(card: Path) -> None:
    """Add to a model card, or begin one, that the model was changed."""
    before = card.read_bytes() if card.exists() else b""
    if CHANGED.encode() not in before:
        card.write_bytes((before.rstrip() + b"\n\n" if before else b"") + CHANGED.encode())


def _instead(run: Run) -> str:
    """Say what to do with a run that cannot be written. CTranslate2 has no SSRUs, and exports for it begin with no language."""
    expressed = not run.target.starts and getattr(run.recipe.model, "autoregression", "") == "attention"
    return "translate with Dragoman" + (", or export with `--to ctranslate2`" if expressed else "")


def _check_kept(kept: Path, files: Mapping[str, str]) -> None:
    """Raise ExportError for the first file of the original that a run should have kept, and has not, or not as it was."""
    checksums = Checksums()
    for name in filter(is_kept, files):
        if not (kept / name).is_file() or checksums.of(kept / name) != files[name]:
            raise ExportError(
                f"{kept / name} is missing or has changed since the import; restore it from an intact copy, or import again"
            )


def _larger(run: Run, config: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of the tokeniser of a run that has grown since its import, by their names; none for any other run.

    Marian's ids are a table, to which any may be added. Others give ids by counting, so that new ones would move old ones.
    """
    if GROWN not in run.manifest[ORIGINAL]:
        return {}
    source, target = run.source.tokenizer, run.target.tokenizer
    assert isinstance(source, Imported) and isinstance(target, Imported)
    if config.get("model_type") != "marian":
        raise ExportError(
            f"{run.folder} was extended with new characters or languages, which the tokeniser of `{config.get('model_type')}` in "
            f"`transformers` cannot number; {_instead(run)}"
        )
    tables = {"vocab.json": source, "target_vocab.json": target}
    kept = {name: one for name, one in tables.items() if (run.folder / ORIGINAL / name).exists()}
    ids = {
        name: {piece: index for index, piece in enumerate(one.table.pieces) if piece != unused(index)}
        for name, one in kept.items()
    }
    written = {name: json.dumps(table, ensure_ascii=False).encode() for name, table in ids.items()}
    return {"source.spm": source.model, "target.spm": target.model, **written}


def description_of(run: Run, config: Mapping[str, Any]) -> Description:
    """Return the description of an imported run's model, with the settings that it has by now."""
    settings = run.recipe.model
    assert isinstance(settings, TransformerSettings)
    rows = run.manifest[ORIGINAL].get("table_rows", 0)
    return replace(describe(config), settings=settings, table_rows=rows)
