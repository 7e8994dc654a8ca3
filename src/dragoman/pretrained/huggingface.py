"""`dragoman export --to huggingface`: a run as a folder that `transformers` loads, or why that is impossible.

Source: the forms are those of `models/marian` and `models/pegasus` of that library, which is needed only for the proof.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import device

from dragoman.atomic import give_usual_mode, replacing
from dragoman.attention.scores import BILINEAR
from dragoman.conversion.job import sample
from dragoman.conversion.specification import POSITIONS
from dragoman.data.ledger import record
from dragoman.errors import ExportError, RunError
from dragoman.inference.ctranslate2.folder import EXPORTS
from dragoman.models.build import ModelSettings
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.pretrained.huggingface_proof import prove_export, require
from dragoman.pretrained.huggingface_weights import (
    Layout,
    config_of,
    generation_config_of,
    layout_of,
    left_out,
    tensors_of,
)
from dragoman.pretrained.model_card import model_card
from dragoman.pretrained.original import is_original, write_original
from dragoman.pretrained.own_export import MARK, mark_of
from dragoman.pretrained.proof import Proof, can_prove, prove
from dragoman.pretrained.tokenizer_json import tokenizer_config, tokenizer_json
from dragoman.runs.folder import Run, open_run
from dragoman.special_ids import SPECIAL_IDS
from dragoman.text.codec import Codec
from dragoman.text.pieces import SentencePiece
from dragoman.text.words import Characters, Words

FOLDER = "huggingface"
"""Name of the folder inside `RUN/exports`."""
EXPRESSED: Mapping[str, tuple[Any, ...]] = {
    "kind": ("transformer",),
    "gated": (False,),
    "experts": (None,),
    "positions": ("sinusoidal", "sinusoidal_halves"),
    "relative": ("none",),
    "self_score": BILINEAR,
    "cross_score": BILINEAR,
    "self_weights": ("softmax",),
    "cross_weights": ("softmax",),
    "window": (None,),
    "hard": (None,),
}
"""Settings of which only these values can be expressed."""
ANY = (
    *(
        "width",
        "feed_forward",
        "activation",
        "heads",
        "norm",
        "encoder_layers",
        "decoder_layers",
        "tied",
        "output_bias",
    ),
    *("dropout", "attention_dropout", "feed_forward_dropout", "max_positions", "start_from", "adapters"),
)
"""Settings whose values do not matter; all others must have their default."""


def export(
    run: Path, out: Path | None = None, *, licence: str | None = None, say: Callable[[str], object] = lambda _: None
) -> tuple[Path, Proof | None]:
    """Export a run for `transformers`; return the folder, by default inside the run, and the proof that it is the run.

    There is no proof where that library is not installed. `licence` goes into the model card, which imported models bring along.
    ExportError says what cannot be expressed, or that the export was not kept because it computes something else.
    """
    opened = open_run(run)
    opened.require("translate")
    if not is_original(opened):
        refuse(opened)
    elif licence is not None:
        raise ExportError(
            "`--license` works only for runs trained here; an imported model keeps its own card and licence"
        )
    if licence is not None and (not licence.strip() or len(licence.splitlines()) > 1):
        raise ExportError("`--license` needs the name of a licence in one line, such as `apache-2.0`")
    place = (out or run / EXPORTS / FOLDER).absolute()
    if place.exists():
        raise ExportError(f"{place} exists already; choose another folder, or delete it")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(place) as temporary:
            temporary.mkdir()
            proof = _write(opened, temporary, licence) if not is_original(opened) else _write_back(opened, temporary)
            record(temporary, list(temporary.iterdir()))
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"{place} cannot be written ({reason}); choose another folder, or make room") from None
    if proof is None:
        say("Not verified, because `transformers` is not installed: install it and export again, to be sure.")
    else:
        say(f"Verified with {proof.reader}: {proof}.")
    if not is_original(opened) and (missing := left_out(opened.recipe.decoding)):
        say(missing)
    if licence is None and not is_original(opened):
        say("The model card says that no licence was given; `--license` gives one.")
    return place, proof


def refuse(run: Run) -> None:
    """Raise ExportError, which names the setting, for a run that cannot be expressed."""
    casing = " --set text.inline_casing=false" if getattr(run.recipe.text, "inline_casing", False) else ""
    for what in obstacles(run.recipe.model):
        raise ExportError(
            f"the models of `transformers` cannot express {what}; translate with Dragoman, or train a Transformer that they can "
            f"(`--set model.kind=transformer --set model.relative=none{casing}`; docs/export.md says which)"
        )
    for codec in (run.source, run.target):
        for what in obstacles_of_text(codec):
            raise ExportError(
                f"the tokenizers of `transformers` cannot express {what}; translate with Dragoman, or train a run without it"
            )


def obstacles(settings: ModelSettings) -> Iterator[str]:
    """Yield the settings of a model that cannot be expressed."""
    if not isinstance(settings, TransformerSettings) or settings.kind != "transformer":
        yield f"a model of the kind `{settings.kind}`"
        return
    for name, field in TransformerSettings.model_fields.items():
        value = getattr(settings, name)
        if name not in ANY and value not in EXPRESSED.get(name, (field.default,)):
            shown = f": {str(value).lower()}" if isinstance(value, str | int | float) else ""
            yield f"`model.{name}{shown}`"


def obstacles_of_text(codec: Codec) -> Iterator[str]:
    """Yield the properties of a codec that cannot be expressed."""
    if codec.right_to_left:
        yield "`text.right_to_left: true`"
    if isinstance(codec.tokenizer, Words):
        yield "`text.kind: words`"
    elif isinstance(codec.tokenizer, SentencePiece) and codec.tokenizer.inline_casing:
        yield "`text.inline_casing: true`"
    elif not isinstance(codec.tokenizer, SentencePiece | Characters) or replace(codec.special, tags=()) != SPECIAL_IDS:
        yield "an imported vocabulary"


def _write(run: Run, folder: Path, licence: str | None) -> Proof | None:
    """Write an export into an empty folder, and verify it where that is possible."""
    settings = run.recipe.model
    assert isinstance(settings, TransformerSettings)
    layout = layout_of(settings, len(run.source), len(run.target))
    model = run.load_model(device("cpu"))
    weights = folder / "model.safetensors"
    save_file(tensors_of(model, settings, layout), weights, {"format": "pt"})
    give_usual_mode(weights)
    for name, content in _tables(run, settings, layout).items():
        (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    proof = prove_export(run, folder, layout, pairs=sample(run, settings)) if can_prove() else None
    (folder / "README.md").write_text(model_card(run, layout, licence, proof=proof), encoding="utf-8")
    return proof


def _write_back(run: Run, folder: Path) -> Proof | None:
    """Write an imported run as what it was, and compare their logits where that is possible."""
    write_original(run, folder)
    if not can_prove():
        return None
    proof = prove(run, folder)
    require(proof)
    return proof


def _tables(run: Run, settings: TransformerSettings, layout: Layout) -> dict[str, dict[str, Any]]:
    """Return the JSON files of an export by name."""
    special = run.target.special
    return {
        "config.json": {**config_of(settings, layout, special), MARK: mark_of(run, layout)},
        "generation_config.json": generation_config_of(run.recipe.decoding, layout, special),
        "tokenizer.json": tokenizer_json(run.source, run.target, layout.offset),
        "tokenizer_config.json": tokenizer_config(layout.offset, POSITIONS),
    }
