"""The run folder of a classifier: like a translator's, with one codec and the labels in its manifest."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dragoman.classification.settings import ClassifierRecipe
from dragoman.data.ledger import LEDGER
from dragoman.errors import RunError
from dragoman.machine.provenance import versions
from dragoman.machine.torch_state import usual_torch
from dragoman.models.build import filled_next, plugged
from dragoman.models.classifier import DocumentClassifier
from dragoman.runs.folder import read_recipe, read_sealed, write_run
from dragoman.runs.integrity import COMPARED, IDENTITY, check_files, run_identity
from dragoman.text.codec import Codec
from dragoman.training.checkpoint import FORMAT, check_outline, fill
from dragoman.training.files import RunFiles
from dragoman.training.settings import OptimisationSettings, TrainingSettings

TASK = "classify"
"""The task in the manifest of a classifier's run."""
OF_TRANSLATION = frozenset(TrainingSettings.model_fields) - frozenset(OptimisationSettings.model_fields)
"""Settings of training that translators have and classifiers do not."""


@dataclass(frozen=True)
class ClassifierRun:
    """An opened run folder of a classifier."""

    folder: Path
    recipe: ClassifierRecipe
    codec: Codec
    labels: tuple[str, ...]
    manifest: Mapping[str, Any]

    @property
    def weights(self) -> Path:
        """Return the path of the best weights."""
        return self.files.weights

    @property
    def files(self) -> RunFiles:
        """Return the files that training writes into the folder."""
        return RunFiles(self.folder, self.manifest.get(IDENTITY))

    def fresh_model(self) -> DocumentClassifier:
        """Build the recipe's model with weights initialised from its seed."""
        torch.manual_seed(self.recipe.seed)
        return self._built()

    def _built(self) -> DocumentClassifier:
        """Build the recipe's model with weights of torch's random state."""
        return DocumentClassifier(self.recipe.model, len(self.codec), len(self.labels))

    def load_model(self, device: torch.device) -> DocumentClassifier:
        """Build the model with its best weights, ready to classify."""
        if not self.weights.exists():
            raise RunError(
                f"{self.folder} has no model.safetensors yet: training has not reached its first validation; "
                "give the `dragoman classify train` command that began it again, with --resume, or wait"
            )
        tensors = self.files.load(self.weights)[0]
        if not plugged(self.recipe.model):
            check_outline(self._built, tensors, self.weights)
        with usual_torch(), filled_next(self.recipe.model, self.recipe.seed):
            model = self._built()
        fill(model, tensors, self.weights)
        return model.to(device).eval()

    def save(self) -> None:
        """Write everything except the weights."""
        write_run(self.folder, self.recipe, {"text": self.codec}, manifest=self.manifest)


def new_classifier_run(
    folder: Path, recipe: ClassifierRecipe, codec: Codec, *, labels: tuple[str, ...], metadata: Mapping[str, Any]
) -> ClassifierRun:
    """Create a run in memory; `metadata` goes into its manifest, along with labels, versions and seed."""
    identity = run_identity(recipe, [codec.fingerprint], metadata.get("data", {}))
    head = {
        "format": FORMAT,
        "task": TASK,
        "labels": list(labels),
        "seed": recipe.seed,
        IDENTITY: identity,
        COMPARED: LEDGER,
    }
    return ClassifierRun(folder, recipe, codec, labels, {**head, **versions(), **metadata})


def open_classifier_run(folder: Path) -> ClassifierRun:
    """Read a classifier's run folder. Raises RunError if it is missing, damaged, too new or of another task."""
    if not folder.exists():
        raise RunError(f"there is no run folder {folder}; train one with `dragoman classify train`, or check the path")
    manifest, written = read_sealed(folder)
    if manifest.get("task") != TASK:
        raise RunError(f"{folder} is not a document classifier; train one with `dragoman classify train`")
    labels = manifest.get("labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise RunError(f"{folder / 'manifest.json'} is damaged; restore it from an intact copy")
    check_files(folder, manifest, "manifest.json", "text.json")
    recipe = read_recipe(folder, ClassifierRecipe, written, update=_current)
    return ClassifierRun(folder, recipe, Codec.load(folder, "text"), tuple(labels), manifest)


def _current(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return the recipe of a run in today's format, without the unused translation settings of version 1.0."""
    training = recipe.get("training")
    if not isinstance(training, dict):
        return recipe
    kept = {name: value for name, value in training.items() if name not in OF_TRANSLATION}
    if isinstance(kept.get("phases"), list):
        kept["phases"] = [
            {name: value for name, value in phase.items() if name not in OF_TRANSLATION}
            if isinstance(phase, dict)
            else phase
            for phase in kept["phases"]
        ]
    return {**recipe, "training": kept}
