"""Train a classifier: from labelled texts to a finished run."""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from dragoman.classification.run import ClassifierRun, new_classifier_run, open_classifier_run
from dragoman.classification.settings import ClassifierRecipe
from dragoman.data.checksums import Checksums
from dragoman.data.collate import Ids
from dragoman.data.corpus import is_kept
from dragoman.data.corpus_settings import HoldOutSettings
from dragoman.data.labelled import (
    DocumentStream,
    Labelled,
    check_known,
    collate_documents,
    encode_document,
    labels_of,
    read_labelled,
)
from dragoman.errors import CorpusError
from dragoman.interfaces import Batch, Loss
from dragoman.jobs.checks import check_machine, check_recipe
from dragoman.machine.devices import choose_device
from dragoman.machine.onednn import bound_caches
from dragoman.machine.precision import choose_training_precision
from dragoman.machine.processes import for_one_process
from dragoman.machine.threads import threads_restored
from dragoman.machine.torch_state import random_numbers_restored, usual_torch
from dragoman.models.classifier import DocumentClassifier
from dragoman.runs.folder import check_new
from dragoman.runs.lock import run_lock
from dragoman.text.codec import Codec, learn_codec
from dragoman.training.contracts import Listener, Objective
from dragoman.training.progress import Progress
from dragoman.training.reports import Silent
from dragoman.training.resuming import check_same_files, check_same_recipe, with_changes
from dragoman.training.selection import check_learned
from dragoman.training.session import train_for_a_session
from dragoman.training.settings import OptimisationSettings
from dragoman.training.trainer import Trainer

HELD_OUT = 10
"""Without dev documents, one in this many training documents is held out."""

BATCH = 64
"""Dev documents per batch."""


@for_one_process
def fit_classifier(
    recipe: ClassifierRecipe, folder: Path, *, resume: bool = False, listener: Listener | None = None
) -> Progress:
    """Train a classifier into the run `folder`, or resume the one in it.

    Ctrl-C, SIGTERM and SIGHUP save and return. Nothing is written until everything that training needs has been checked.
    Raises RunError if the folder already contains a run and `resume` is false.
    """
    listener = listener or Silent()
    bound_caches(os.environ)
    check_machine(recipe, choose_device(recipe.training.device))
    begun = open_classifier_run(folder).recipe if resume and folder.exists() else None
    for sentence in check_recipe(recipe, begun=begun):
        listener.say(f"Ignored, as when the run was started: {sentence}.")
    train, dev = read_documents(recipe)
    device = choose_device(recipe.training.device)
    with run_lock(folder) as lock, threads_restored(), usual_torch(), random_numbers_restored(device):
        run = _reopened(recipe, folder) if begun is not None else _prepared(recipe, folder, train)
        check_known(dev, run.labels)
        chosen = spread(dev, recipe.training.validate_sentences)
        listener.say(
            f"{len(train):,} documents to train on, {len(chosen):,} for choosing the best weights. "
            + ", ".join(f"{label}: {sum(one.label == label for one in train):,}" for label in run.labels)
        )
        trainer = _assembled(run, train, chosen, listener=listener)
        trainer.files = replace(trainer.files, check_ours=lock.check)
        resuming = begun is not None and run.files.resumable()
        run.save()
        progress = train_for_a_session(trainer, seed=recipe.seed, resuming=resuming)
        if progress.finished:
            check_learned(trainer.metrics, math.log(len(run.labels)), say=trainer.listener.say)
        trainer.listener.close()
    return progress


def read_documents(recipe: ClassifierRecipe) -> tuple[list[Labelled], list[Labelled]]:
    """Return the training and the dev documents; without a dev file, hold out a part of the training file by hash."""
    documents = read_labelled(recipe.data.train)
    labels_of(documents, recipe.data.train)
    if recipe.data.dev is not None:
        return documents, read_labelled(recipe.data.dev)
    rest, held = (
        [one for one in documents if is_kept(one.text, HoldOutSettings(modulo=HELD_OUT, keep=part))]
        for part in ("rest", "held")
    )
    if not held or {one.label for one in rest} != {one.label for one in documents}:
        raise CorpusError(
            f"{recipe.data.train} has too few documents ({len(documents)}) to hold some out; provide dev documents with --dev"
        )
    return rest, held


def spread(documents: Sequence[Labelled], most: int) -> list[Labelled]:
    """Return at most `most` documents, evenly spread, as a file may be sorted by label."""
    count = min(most, len(documents))
    return [documents[at * len(documents) // count] for at in range(count)]


def classification_loss(model: DocumentClassifier, batch: Batch, *, smoothing: float = 0.0) -> Loss:
    """Return the cross-entropy of the labels, summed over documents (Yang et al. 2016, equation 12)."""
    output = model(batch.source)
    labels = batch.labels[:, 0]
    total, plain = output.head.loss(output.features, labels, smoothing)
    return Loss(total, len(labels), plain)


class LabelValidation:
    """Measure a model on the dev documents: `dev_loss` per document (not smoothed) and `dev_accuracy`."""

    def __init__(self, documents: Sequence[Ids], labels: Sequence[int], device: torch.device) -> None:
        self.batches = [
            collate_documents(documents[at : at + BATCH], labels[at : at + BATCH]).to(device)
            for at in range(0, len(documents), BATCH)
        ]

    def __call__(self, model: DocumentClassifier) -> dict[str, float]:
        """Return the scores of `model`, which is in evaluation mode."""
        loss, right, total = 0.0, 0, 0
        with torch.inference_mode():
            for batch in self.batches:
                output, labels = model(batch.source), batch.labels[:, 0]
                _, plain = output.head.loss(output.features, labels, 0.0)
                loss += float(plain)
                right += int((output.logits.argmax(-1) == labels).sum())
                total += len(labels)
        return {"dev_loss": loss / total, "dev_accuracy": right / total}


def _assembled(
    run: ClassifierRun, train: Sequence[Labelled], dev: Sequence[Labelled], *, listener: Listener
) -> Trainer:
    """Encode the documents, build the model, and assemble the trainer."""
    settings = run.recipe.training
    device = choose_device(settings.device)
    torch.set_num_threads(settings.threads or torch.get_num_threads())

    def objective(training: OptimisationSettings) -> Objective:
        return partial(classification_loss, smoothing=training.label_smoothing)

    return Trainer(
        run.fresh_model().to(device),
        objective,
        DocumentStream(*_encoded(run.codec, run.labels, train), settings.batch_tokens, seed=run.recipe.seed),
        settings=settings,
        precision=run.manifest.get("precision") or choose_training_precision(settings.precision, device),
        files=run.files,
        validate=LabelValidation(*_encoded(run.codec, run.labels, dev), device),
        listener=listener,
    )


def _encoded(codec: Codec, labels: Sequence[str], documents: Sequence[Labelled]) -> tuple[list[list[int]], list[int]]:
    """Return the token ids of documents and the indices of their labels."""
    numbers = {label: number for number, label in enumerate(labels)}
    return [encode_document(codec, one.text) for one in documents], [numbers[one.label] for one in documents]


def _checksums(recipe: ClassifierRecipe) -> dict[str, str]:
    """Return the SHA-256 of every file."""
    checksums = Checksums()
    return {str(path): checksums.of(path) for path in _files(recipe)}


def _files(recipe: ClassifierRecipe) -> list[Path]:
    """Return the files of documents."""
    return [path for path in (recipe.data.train, recipe.data.dev) if path is not None]


def _prepared(recipe: ClassifierRecipe, folder: Path, train: Sequence[Labelled]) -> ClassifierRun:
    """Learn the codec of a new run, without writing anything yet."""
    check_new(folder)
    metadata = {
        "precision": choose_training_precision(recipe.training.precision, choose_device(recipe.training.device)),
        "data": _checksums(recipe),
    }
    codec = learn_codec(recipe.text, (one.text for one in train))
    return new_classifier_run(folder, recipe, codec, labels=labels_of(train, recipe.data.train), metadata=metadata)


def _reopened(recipe: ClassifierRecipe, folder: Path) -> ClassifierRun:
    """Open a run to resume it. Its documents must be unchanged, and its recipe too, except for a few settings."""
    run = open_classifier_run(folder)
    check_same_recipe(folder, run.recipe.model_dump(mode="json"), recipe.model_dump(mode="json"))
    now, moved = _checksums(recipe), zip(map(str, _files(run.recipe)), map(str, _files(recipe)), strict=True)
    check_same_files(folder, run.manifest.get("data", {}), now, moved=list(moved))
    resumed = with_changes(run.manifest, run.files, run.recipe.training, now=recipe.training)
    return replace(run, recipe=recipe, manifest={**run.manifest, "data": now, **resumed})
