"""The whole job of `dragoman export`: convert a run into a folder for another engine, or say why that is impossible."""

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Literal

from dragoman.atomic import replacing
from dragoman.conversion.proof import Agreement, compare, require
from dragoman.conversion.specification import POSITIONS, describe, refuse
from dragoman.data.checksums import weights_digest
from dragoman.data.corpus import Pair, first_of_each_direction, read_pairs
from dragoman.data.ledger import sealed
from dragoman.decoding.settings import ALONE, DecodingSettings
from dragoman.errors import DragomanError, ExportError, RunError
from dragoman.inference.checks import lay_over
from dragoman.inference.ctranslate2.folder import (
    EXPORTS,
    FORMAT,
    MANIFEST,
    UNTAGGED,
    checksums,
    is_export,
    open_export,
)
from dragoman.inference.ctranslate2.search import obstacle
from dragoman.inference.ctranslate2.translator import DICTIONARY, ExportedTranslator, can_be_used
from dragoman.inference.translator import Translator
from dragoman.machine.processes import for_one_process
from dragoman.machine.provenance import versions
from dragoman.models.capabilities import capabilities_of
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.runs.folder import Run, open_run

Quantization = Literal["int8", "float32"]
"""How weights are stored; int8 products are accumulated in int32."""

SAMPLE = 40
"""Number of sentences on which both engines must agree."""


@for_one_process
def export(
    run: Path,
    out: Path | None = None,
    *,
    quantization: Quantization = "int8",
    decoding: Mapping[str, Any] | None = None,
) -> tuple[Path, Agreement]:
    """Export a run for CTranslate2; return the folder, by default inside the run, and how well both engines agree.

    `decoding` has settings of the export's search that differ from those of the run's recipe. Nothing is left behind if the
    export does not translate like the run. ExportError says what CTranslate2 cannot express.
    """
    opened = open_run(run)
    opened.require("translate")
    refuse(opened.recipe.model)
    search = _search(opened, decoding or {})
    if opened.target.starts:
        raise ExportError(
            f"{run} begins each translation with its language, which exports for CTranslate2 do not; translate with the run"
        )
    if not can_be_used():
        raise ExportError('CTranslate2 is not installed; install it with `pip install "dragoman[fast]"`')
    place = (out or run / EXPORTS / f"ctranslate2-{quantization}").absolute()
    if place.exists() and not (is_export(place) or (place.is_dir() and not any(place.iterdir()))):
        raise ExportError(f"{place} exists but is not an export; choose another folder")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacing(place) as temporary:
            temporary.mkdir()
            agreement = _write(opened, temporary, quantization, search=search)
    except OSError as error:
        raise RunError(f"{place} cannot be written ({error.strerror}); choose another folder, or make room") from None
    return place, agreement


def _search(run: Run, changes: Mapping[str, Any]) -> DecodingSettings:
    """Return how an export searches. ExportError for what CTranslate2 cannot do with the same meaning."""
    if "precision" in changes:
        raise ExportError("the precision of an export is that of its weights; choose it with --quantization")
    settings = lay_over(run.recipe.decoding, changes, capabilities_of(run.recipe.model))
    if (missing := obstacle(settings)) is not None:
        raise ExportError(
            f"CTranslate2 does not support {missing}, which {run.folder} translates with; say with --set how the export "
            "searches, as in `--set rerank=[]` or `--set no_repeat_ngram=0`, or translate with the run"
        )
    return settings


def _write(run: Run, folder: Path, quantization: Quantization, *, search: DecodingSettings) -> Agreement:
    """Write an export into an empty folder, and verify it: first in float32, where only rounding may differ."""
    settings = run.recipe.model
    assert isinstance(settings, TransformerSettings)
    own = Translator.load(run.folder, device="cpu", **ALONE)
    run.source.save(folder, "source")
    run.target.save(folder, "target")
    if run.dictionary:
        shutil.copy(run.folder / DICTIONARY, folder / DICTIONARY)
    source, target = (list(codec.tokenizer.vocabulary) for codec in (run.source, run.target))
    guided = run.recipe.training.supervised
    pairs = sample(run, settings)
    kinds: tuple[Quantization, ...] = ("float32",) if quantization == "float32" else ("float32", quantization)
    for kind in kinds:
        layer = None if guided is None else guided.layer
        spec = describe(own.models[0], settings, source, target=target, attends=layer)
        spec.optimize(None if kind == "float32" else kind)
        spec.save(str(folder))
        manifest = _manifest(run, settings, kind, search=search)
        _write_manifest(folder, manifest)
        agreement, beyond = compare(own, ExportedTranslator(open_export(folder)), pairs)
        require(agreement, beyond, kind)
    _write_manifest(folder, {**manifest, "agreement": agreement.table()})
    return agreement


def sample(run: Run, settings: TransformerSettings) -> list[Pair]:
    """Return sentences from the run's dev corpora or, if these cannot be read, random sequences of its tokens."""
    found: list[Pair] = []
    data = run.recipe.data
    for corpus in data.dev:
        with suppress(DragomanError):
            found += islice(read_pairs(corpus, data), None if data.tagged else SAMPLE)
    longest = positions_of(settings)
    fitting = [
        pair
        for pair in found
        if run.source.normalize(pair.source)
        and len(run.source.framed(pair.source, pair.between)) < longest
        and len(run.target.encode(pair.target)) < longest
    ]
    return first_of_each_direction(fitting, SAMPLE) or _generated(run, longest)


def positions_of(settings: TransformerSettings) -> int:
    """Return the maximum number of tokens of a sentence, including </s>, that an export can take."""
    return POSITIONS if settings.bound is None else settings.bound


def _generated(run: Run, longest: int) -> list[Pair]:
    """Return sentences of 1 to 20 tokens, fewer than `longest`, drawn at random."""
    import random

    rng = random.Random(run.recipe.seed)
    directions = run.directions
    tags = int(directions.tagged)
    made: list[list[str]] = []
    for codec in (run.source, run.target):
        ids = range(4, len(codec))
        texts = (codec.decode(rng.choices(ids, k=length)) for length in range(1, SAMPLE // 2 + 1))
        made.append([text for text in texts if len(codec.encode(text)) + tags < longest])
    return [
        Pair(source, target, "", languages=direction)
        for source, target, direction in zip(
            *made, cycle(directions.trained if directions.tagged else [None]), strict=False
        )
    ]


def _manifest(
    run: Run, settings: TransformerSettings, quantization: Quantization, *, search: DecodingSettings
) -> dict[str, Any]:
    """Return the manifest of an export without checksums."""
    from importlib.metadata import version

    directions = run.directions
    trained = [list(direction) for direction in directions.trained]
    return {
        "format": FORMAT if directions.tagged else UNTAGGED,
        "task": "translate",
        "engine": "ctranslate2",
        "quantization": quantization,
        "languages": trained[0],
        **({"directions": trained} if directions.tagged else {}),
        **({"usual": list(directions.usual)} if directions.usual is not None else {}),
        "positions": positions_of(settings),
        "decoding": search.model_dump(mode="json"),
        "weights": weights_digest(run.weights),
        "versions": {**versions(), "ctranslate2": version("ctranslate2")},
    }


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest with checksums of all other files."""
    names = [path.name for path in folder.iterdir() if path.name != MANIFEST]
    table = sealed({**manifest, "files": checksums(folder, names)})
    (folder / MANIFEST).write_text(json.dumps(table, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
