"""Settings of training."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from dragoman.settings import Settings
from dragoman.training.schedules import ScheduleName


class GuidedSettings(Settings):
    """One head over the source learns from word links, beside translating (Garg et al. 2019)."""

    layer: int = Field(1, ge=1)
    """Decoder layer of the head, from 1."""
    head: int = Field(1, ge=1)
    """The head, from 1."""
    weight: float = Field(0.05, gt=0)
    """Weight of its loss beside that of the translation."""
    shift: bool = True
    """Teach the step that reads a word, which knows it, rather than the one that writes it."""


class TrainingSettings(Settings):
    """How a model is trained. At least one of `steps`, `epochs` and `minutes` must be given; the first reached ends."""

    steps: int | None = Field(None, ge=1)
    """Optimiser steps."""
    epochs: float | None = Field(None, gt=0)
    """Passes over the training corpus."""
    minutes: float | None = Field(None, gt=0)
    """Wall time of training, validation included, summed over sittings."""
    batch_tokens: int = Field(4000, ge=1)
    """Largest batch: rows times longest sentence, in tokens of the longer side."""
    tokens_per_step: int | None = Field(None, ge=1)
    """Target tokens behind each optimiser step, gathered over batches; by default one batch is one step."""
    optimizer: Literal["adam", "adamw"] = "adamw"
    """Adam (Kingma and Ba 2015), or Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""
    learning_rate: float = Field(1e-3, gt=0)
    """Peak of the schedule."""
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (0.9, 0.98)
    """Decay of Adam's two averages."""
    epsilon: float = Field(1e-9, gt=0)
    """Added to Adam's denominator."""
    weight_decay: float = Field(0.0, ge=0)
    """Pull of matrices towards zero; biases, norms and embeddings are left alone."""
    schedule: ScheduleName = "inverse_root"
    """Shape of the learning rate after warm-up: inverse_root, cosine, linear or constant."""
    warmup: int = Field(1000, ge=0)
    """Steps of linear rise before it."""
    clip: float = Field(1.0, gt=0)
    """Largest norm of the gradient."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability given to all pieces alike (Szegedy et al. 2016)."""
    guided: GuidedSettings | None = None
    """Teach one head word links, which a training corpus must have (its setting `links`)."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of matrix products. auto: bfloat16 where this machine is measured to be faster with it."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train; auto takes a GPU where there is one."""
    threads: int | None = Field(None, ge=1)
    """CPU threads; by default as many as cores."""
    validate_every: int = Field(500, ge=1)
    """Steps between validations on the dev corpus."""
    validate_sentences: int = Field(1000, ge=1)
    """Dev sentences translated greedily for dev BLEU, the first ones."""
    metric: Literal["bleu", "loss"] = "bleu"
    """Dev metric that chooses the best checkpoint and stops early."""
    patience: int | None = Field(None, ge=1)
    """Stop after so many validations without a better one."""
    save_minutes: float = Field(5.0, gt=0)
    """Most minutes of work that a crash may cost: a checkpoint is written at least so often."""
    keep: int = Field(5, ge=0)
    """Weights of so many last validations are kept, for averaging."""
    average: int = Field(0, ge=0)
    """At the end, try the average of the last so many kept weights, and take it where dev says it is better."""
    log_every: int = Field(50, ge=1)
    """Steps between records in metrics.jsonl."""
    tensorboard: bool = False
    """Also write TensorBoard events (needs the extra `tensorboard`)."""

    @model_validator(mode="after")
    def _check(self) -> "TrainingSettings":
        if self.steps is None and self.epochs is None and self.minutes is None:
            raise ValueError("`training` needs a budget: set `training.steps`, `training.epochs` or `training.minutes`")
        if self.average > self.keep:
            raise ValueError("`training.average` cannot exceed `training.keep`, the number of weights that are kept")
        return self
