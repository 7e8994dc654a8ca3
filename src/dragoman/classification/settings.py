"""The recipe of a classifier; everything has a default except the training file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from dragoman.models.classifier import ClassifierSettings
from dragoman.settings import Settings, merge, override, parse
from dragoman.text.settings import LearnedTextSettings, WordsSettings
from dragoman.training.schedules import ScheduleName
from dragoman.training.settings import Budget, OptimisationSettings


class LabelledSettings(Settings):
    """The documents: files with a label, a tab and a text on each line; plain, .gz, .xz or .zst."""

    train: Path
    """Training documents."""
    dev: Path | None = None
    """Documents for choosing the best weights; by default one in ten training documents is held out."""


class ClassifierTrainingSettings(OptimisationSettings):
    """How a classifier is trained; a document counts as one target token."""

    epochs: Budget | None = 20
    """Passes over the training documents."""
    batch_tokens: int = Field(2000, ge=1)
    """Maximum batch size in tokens: documents times the length of the longest."""
    learning_rate: float = Field(2e-3, gt=0)
    """Peak learning rate."""
    schedule: ScheduleName = "linear"
    """Learning-rate schedule after warm-up: inverse_root, cosine, linear, constant, plateau or halving."""
    warmup: int = Field(20, ge=0)
    """Steps of linear warm-up."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Label smoothing: probability spread evenly over all labels."""
    precision: Literal["auto", "float32", "bfloat16"] = "float32"
    """Arithmetic of matrix products; such small ones gain little from bfloat16."""
    threads: int | None = Field(None, ge=1)
    """CPU threads; by default torch's choice: one per core, or OMP_NUM_THREADS."""
    validate_every: int = Field(50, ge=1)
    """Steps between validations on the dev documents."""
    validate_sentences: int = Field(1000, ge=1)
    """Number of dev documents used, evenly spread over the file."""
    metric: Literal["loss"] = "loss"
    """Dev metric for choosing the best weights: on a few documents, the loss says more than the accuracy."""
    log_every: int = Field(20, ge=1)
    """Steps between records in metrics.jsonl."""


class ClassifierRecipe(Settings):
    """Everything that defines a classifier."""

    seed: int = Field(1, ge=0)
    """Random seed: initial weights, order of batches, dropout."""
    data: LabelledSettings
    """The documents."""
    text: LearnedTextSettings = WordsSettings(minimum_count=2)
    """Tokenisation."""
    model: ClassifierSettings = parse(ClassifierSettings, {})
    """The model."""
    training: ClassifierTrainingSettings = parse(ClassifierTrainingSettings, {})
    """How it is trained."""


def classifier_recipe(train: Path, dev: Path | None = None, assignments: Sequence[str] = ()) -> ClassifierRecipe:
    """Return the recipe for the documents in `train`, with `a.b=value` overriding the defaults.

    >>> classifier_recipe(Path("a.tsv"), assignments=["text.size=500", "model.hidden=8"]).text.size
    500
    """
    defaults = parse(ClassifierRecipe, {"data": {"train": train, "dev": dev}}).model_dump(mode="json")
    return parse(ClassifierRecipe, merge(defaults, override({}, assignments)), where="the command")
