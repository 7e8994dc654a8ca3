"""A run: a folder with everything needed to translate, to resume training, and to know how it was made.

recipe.yaml (resolved), model.safetensors (best weights, or adapters of another run's), source.* and target.* (codecs),
dictionary.tsv (where unknown words say which source word they come from), manifest.json (versions, checksums of data and recipe,
seed), metrics.jsonl, checkpoints/ (weights for averaging), training/ (to resume), checksums.json (of all of these). It can be
copied anywhere; a run with adapters needs its base, where it was or beside it.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.atomic import left_behind, replacing
from dragoman.data.checksums import weights_digest
from dragoman.data.directions import Direction, Directions, imported_directions
from dragoman.data.ledger import LEDGER, check, record, write_recorded
from dragoman.data.unknown import read_dictionary
from dragoman.decoding.shortlist import Shortlist
from dragoman.errors import DragomanError, InputError, RunError, shell_path
from dragoman.json_files import load_json
from dragoman.layers.adapters import Adapters
from dragoman.machine.provenance import versions
from dragoman.machine.torch_state import usual_torch
from dragoman.models.build import Model, build_model, filled_next, plugged, purpose_of
from dragoman.models.capabilities import Purpose
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.regular_files import is_utf8
from dragoman.runs.integrity import (
    COMPARED,
    IDENTITY,
    INHERITED,
    check_entries,
    check_files,
    check_recipe,
    run_identity,
    sealed,
    unsealed,
)
from dragoman.runs.lock import LOCK, run_lock, stale
from dragoman.runs.recipe import Recipe, with_own_texts, with_runs_beside
from dragoman.settings import Kind, Settings, dump, parse, read_yaml
from dragoman.text.codec import Codec
from dragoman.training.checkpoint import FORMAT, check_format, check_outline, fill, load_tensors, own_tensors
from dragoman.training.files import RunFiles

SHORTLIST = "shortlist.safetensors"
"""File of a run folder with the target tokens that each source token is likely to become."""
DICTIONARY = "dictionary.tsv"
"""File of a run folder with translations of single words."""
CODECS = frozenset({"source.json", "target.json", "text.json"})
"""Files of the codecs, which are the first that a new run writes."""
ORIGINAL = "imported"
"""Entry of a manifest, and folder in a run, with what is kept of the pretrained model that the weights once came from."""
GROWN = "grown"
"""Entry of a manifest with what has been added to the vocabularies of a run, which no training has seen yet."""
BEFORE_A_RUN = CODECS | {DICTIONARY, LEDGER, ORIGINAL, "recipe.yaml", "distilled", "mixed"}
"""Files that may be in a folder before it contains a run: those of a half-written run, and the corpus of a student or an
adapted run."""


@dataclass(frozen=True)
class Run:
    """An opened run folder."""

    folder: Path
    recipe: Recipe
    source: Codec
    target: Codec
    manifest: Mapping[str, Any]
    dictionary: Mapping[str, str] = field(default_factory=dict)
    """Translations of single words, learned from word alignments; empty unless unknown words are positional."""
    origin: Path | None = None
    """The run whose files of a pretrained model are copied when this one is saved."""

    @property
    def languages(self) -> Direction:
        """Return the codes of the source and the target language, those of the usual or first direction if there are several."""
        return self.directions.first

    @property
    def directions(self) -> Directions:
        """Return the directions that the run was trained on, or in which it translates if it was imported or has grown."""
        new = tuple(self.manifest.get(GROWN, {}).get("languages", ()))
        return imported_directions(self.source, self.target, self.recipe.data.directions, new=new)

    @property
    def weights(self) -> Path:
        """Return the path of the best weights."""
        return self.files.weights

    def fresh_model(self) -> Model:
        """Build the recipe's model with weights initialised from its seed."""
        torch.manual_seed(self.recipe.seed)
        return self._built()

    def _built(self) -> Model:
        """Build the recipe's model with weights of torch's random state."""
        shared = self.source.shares(self.target)
        return build_model(
            self.recipe.model, Vocabularies(len(self.source), len(self.target), shared, special=self.target.special)
        )

    def require(self, purpose: Purpose) -> None:
        """Raise InputError, which names the right command, if the run's model is for another purpose."""
        own = purpose_of(self.recipe.model)
        if own != purpose:
            raise InputError(
                f"{self.folder} is {_NAMES[own]}, but {_NAMES[purpose]} is needed here; use it with `dragoman {own}`"
            )

    def require_corpora(self) -> None:
        """Raise InputError for an imported run, which has no corpora of its own."""
        if not self.recipe.data.train:
            raise InputError(
                f"{self.folder} was imported, so it names no corpora (`data.train`), which are needed here; give a run that was "
                "trained or adapted with Dragoman"
            )

    def load_model(self, device: torch.device, weights: Path | None = None) -> Seq2Seq:
        """Build the model with its best weights (or those at `weights`). Raises InputError if it has no decoder."""
        model = self.load_any(device, weights)
        if not isinstance(model, Seq2Seq):
            raise InputError(f"{self.folder} is {_NAMES['fill']}, which has no decoder; use it with `dragoman fill`")
        return model

    @property
    def files(self) -> RunFiles:
        """Return the files that training writes into the folder."""
        return RunFiles(self.folder, self.manifest.get(IDENTITY))

    def load_any(self, device: torch.device, weights: Path | None = None) -> Model:
        """Build the model, for any purpose, with its best weights (or those at `weights`), ready for use."""
        if weights is None and not self.weights.exists():
            raise RunError(
                f"{self.folder} has no model.safetensors yet: training has not reached its first validation; "
                f"continue it with `dragoman train --resume {shell_path(self.folder)}`, or wait"
            )
        path = weights or self.weights
        tensors, _ = self.files.load_best() if weights is None else self.files.load(weights)
        adapters = getattr(self.recipe.model, "adapters", None)
        with usual_torch(), filled_next(self.recipe.model, self.recipe.seed):
            if adapters is None:
                return self._filled(tensors, path).to(device).eval()
            base = self._bases()[0]
            model = self._filled(own_tensors(base.load_any(torch.device("cpu"))), base.weights)
            fill(Adapters(model, adapters), tensors, path)
        return model.to(device).eval()

    def inherited(self, *more: str) -> dict[str, Any]:
        """Return the entries of the manifest that hold for a run made of these weights: where they come from, and `more`."""
        return {name: self.manifest[name] for name in (*INHERITED, *more) if name in self.manifest}

    def _filled(self, tensors: Mapping[str, Tensor], path: Path) -> Model:
        """Build the model with these weights; RunError before memory is taken for a model that they do not fit."""
        if not plugged(self.recipe.model):
            check_outline(self._built, tensors, path)
        model = self._built()
        fill(model, tensors, path)
        return model

    def _bases(self) -> list["Run"]:
        """Open the run that this one adapts, the one which that adapts, and so on. RunError if they come back to one of them."""
        runs = [self]
        while getattr(runs[-1].recipe.model, "adapters", None) is not None:
            base = runs[-1].base()
            if base.folder.resolve() in [run.folder.resolve() for run in runs]:
                raise RunError(f"{base.folder} holds adapters of a run that holds adapters of it; copy the runs again")
            runs.append(base)
        return runs[1:]

    def base(self) -> "Run":
        """Open the run that this one adapts, where it was or beside this one. RunError if it is gone or has changed."""
        origin = self.manifest.get("start_from", {}).get("whole", {})
        given, content = Path(origin.get("run", "")), origin.get("content")
        places = [given, self.folder.resolve().parent / given.name]
        for place in places:
            if content is not None and weights_digest(RunFiles(place).weights) == content:
                return open_run(place)
        found = next((place for place in places if RunFiles(place).weights.exists()), None)
        if found is None:
            raise RunError(
                f"{self.folder} holds adapters of the run {given}, which is not there; put that run there, or beside this one"
            )
        raise RunError(
            f"{self.folder} holds adapters of another base than {found}, whose weights are not those that they were trained for; "
            "restore that run, or adapt this one"
        )

    def load_shortlist(self, device: torch.device) -> Shortlist:
        """Read what `dragoman shortlist` learned. Raises RunError if it is missing or for other vocabularies."""
        path = self.folder / SHORTLIST
        if not path.exists():
            raise RunError(
                f"{self.folder} has no shortlist; make one with `dragoman shortlist {shell_path(self.folder)}`"
            )
        check(self.folder, path)
        tensors, about = load_tensors(path)
        if about.get("vocabularies") != self.vocabularies:
            raise RunError(
                f"{path} belongs to other vocabularies than this run's; make it again with "
                f"`dragoman shortlist {shell_path(self.folder)}`"
            )
        return Shortlist(*(tensors[name].to(device).long() for name in ("always", "likely")))

    @property
    def vocabularies(self) -> list[str]:
        """Return the fingerprints of both codecs."""
        return [self.source.fingerprint, self.target.fingerprint]

    def save(self) -> None:
        """Write everything except the weights."""
        codecs = {"source": self.source, "target": self.target}
        if self.origin is not None and (self.origin / ORIGINAL).is_dir() and not (self.folder / ORIGINAL).exists():
            self._keep_original(self.origin / ORIGINAL)
        write_run(self.folder, self.recipe, codecs, manifest=self.manifest, dictionary=self.dictionary)

    def _keep_original(self, kept: Path) -> None:
        """Copy what another run keeps of a pretrained model. Raises RunError if it cannot be written."""
        try:
            with replacing(self.folder / ORIGINAL) as temporary:
                temporary.mkdir()
                for path in kept.iterdir():
                    shutil.copyfile(path, temporary / path.name)
            record(self.folder, (self.folder / ORIGINAL).iterdir())
        except OSError as error:
            raise _unwritable(self.folder, error) from None


_NAMES: Mapping[Purpose, str] = {
    "translate": "a translator",
    "fill": "a masked language model",
    "generate": "a decoder-only language model",
    "classify": "a document classifier",
}


def write_run(
    folder: Path,
    recipe: Settings,
    codecs: Mapping[str, Codec],
    *,
    manifest: Mapping[str, Any],
    dictionary: Mapping[str, str] | None = None,
) -> None:
    """Write a run without its weights; manifest.json comes last, so that an incomplete run is recognisable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, codec in codecs.items():
            write_recorded(folder, folder / f"{name}.json", codec.to_json())
        if dictionary:
            words = "".join(f"{word}\t{other}\n" for word, other in dictionary.items())
            write_recorded(folder, folder / DICTIONARY, words)
        write_recorded(folder, folder / "recipe.yaml", dump(recipe))
        whole = sealed(manifest, read_yaml(folder / "recipe.yaml"))
        write_recorded(folder, folder / "manifest.json", json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> RunError:
    """Return the error that says why a run cannot be written."""
    return RunError(
        f"the run folder {folder} cannot be written ({error.strerror}); choose another with --out, or make room"
    )


def check_new(folder: Path, *, resumable: bool = True) -> None:
    """Raise RunError if a folder contains a run, or files that are not a run's. Hidden files do not count.

    `resumable` says whether the command could continue an existing run. A path that is not UTF-8 text is refused too.
    """
    if not is_utf8(folder):
        raise RunError(f"{folder} is not UTF-8 text, as the path of a run must be; choose another folder with --out")
    if (folder / "manifest.json").exists():
        hint = "add --resume to continue it, or " if resumable else ""
        raise RunError(f"{folder} already holds a run; {hint}choose another folder with --out")
    found = {path.name for path in folder.iterdir() if not path.name.startswith(".")} if folder.is_dir() else set()
    own = BEFORE_A_RUN if found & CODECS else BEFORE_A_RUN - {"recipe.yaml"}
    if found - own:
        raise RunError(
            f"{folder} contains files that do not belong to a run (such as `{min(found - own)}`); choose "
            "another folder with --out"
        )


@contextmanager
def replacing_run(folder: Path) -> Iterator[Path]:
    """Yield a folder that becomes the run `folder` if nothing is raised; until then there is nothing of it.

    What a killed process left of it is deleted. Raises RunError if it cannot be written; an error that is raised names `folder`.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in left_behind(folder.absolute()):
            if stale(left / LOCK):
                shutil.rmtree(left, ignore_errors=True)
        with replacing(folder.absolute()) as temporary:
            try:
                with run_lock(temporary):
                    yield temporary
            except DragomanError as error:  # of the folder as it is called for as long
                raise type(error)(str(error).replace(str(temporary), str(folder))) from None
    except OSError as error:
        raise _unwritable(folder, error) from None


def new_run(
    folder: Path,
    recipe: Recipe,
    codecs: tuple[Codec, Codec],
    *,
    metadata: Mapping[str, Any],
    dictionary: Mapping[str, str] | None = None,
    before: Run | None = None,
) -> Run:
    """Create a run in memory; `metadata` goes into its manifest, along with versions and seed.

    `before` is the run that its weights come from; if that was imported, what is kept of the original is handed on.
    """
    identity = run_identity(recipe, [codec.fingerprint for codec in codecs], metadata.get("data", {}))
    manifest = {"format": FORMAT, "seed": recipe.seed, IDENTITY: identity, COMPARED: LEDGER, **versions(), **metadata}
    if before is None or ORIGINAL not in before.manifest:
        return Run(folder, recipe, *codecs, manifest, dictionary or {})
    manifest.setdefault(ORIGINAL, before.manifest[ORIGINAL])
    return Run(folder, recipe, *codecs, manifest, dictionary or {}, before.folder)


def open_run(folder: str | Path) -> Run:
    """Read a run folder. RunError where it is missing, half-written, damaged or of another format."""
    folder = Path(folder)
    manifest, written = read_sealed(folder)
    if manifest.get("task") == "classify":
        raise RunError(f"{folder} is a document classifier, not a translator; use it with `dragoman classify`")
    check_files(folder, manifest, "manifest.json", "source.json", "target.json", DICTIONARY)
    recipe, moved = with_own_texts(with_runs_beside(read_recipe(folder, Recipe, written), folder), folder)
    if moved:
        manifest["data"] = {moved.get(path, path): known for path, known in manifest.get("data", {}).items()}
    dictionary = read_dictionary(folder / DICTIONARY) if (folder / DICTIONARY).exists() else {}
    return Run(folder, recipe, Codec.load(folder, "source"), Codec.load(folder, "target"), manifest, dictionary)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a run folder. RunError where the run is missing, half-written, damaged or of another format."""
    return read_sealed(folder)[0]


def read_recipe(
    folder: Path,
    kind: type[Kind],
    written: dict[str, Any] | None,
    *,
    update: Callable[[dict[str, Any]], dict[str, Any]] = lambda table: table,
) -> Kind:
    """Read the recipe of a run folder, converted by `update` to today's format.

    RunError where it differs from the one `written` in the manifest in a place on which the weights depend.
    """
    path = folder / "recipe.yaml"
    table = read_yaml(path)
    recipe = parse(kind, update(table), where=str(path))
    if written is not None:
        check_recipe(path, update(table), update(written))
    return recipe


def read_sealed(folder: Path) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the manifest of a run folder, and the recipe that it holds, if any. RunError as from `read_manifest`."""
    if not folder.exists():
        raise RunError(f"there is no run folder {folder}; train one with `dragoman train`, or check the path")
    if not folder.is_dir():
        raise RunError(f"{folder} is a file; give the folder of a run")
    if (folder / "export.json").exists():
        raise RunError(f"{folder} is an export, which can only translate; give the run that it was made from")
    missing = [name for name in ("manifest.json", "recipe.yaml") if not (folder / name).is_file()]
    if missing and (folder / "config.json").is_file():
        raise RunError(
            f"{folder} is a model in the form of `transformers`, not a run; make it one with "
            f"`dragoman import {shell_path(folder)} --out RUN`"
        )
    if missing:
        raise RunError(
            f"{folder} is not a complete run: {missing[0]} is missing; copy the whole folder, or train again"
        )
    path = folder / "manifest.json"
    try:
        manifest = load_json(path)
        written = int(manifest["format"])
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        raise RunError(f"{path} is damaged; restore it from an intact copy") from None
    check_format(path, written)
    found = unsealed(manifest, path)
    check_entries(found[0], path)
    return found
