"""Settings of training."""

from itertools import pairwise
from typing import Annotated, Literal, TypeVar

from pydantic import Field, model_validator

from dragoman.plugins import or_plugin
from dragoman.settings import Settings
from dragoman.training.expected_reward_settings import RewardSettings
from dragoman.training.schedules import ScheduleName

Own = TypeVar("Own", bound="OptimisationSettings")


class GuidedSettings(Settings):
    """One head over the source learns word alignments while the model learns to translate (Garg et al. 2019)."""

    layer: int = Field(1, ge=1)
    """Decoder layer of the head, from 1."""
    head: int = Field(1, ge=1)
    """The head, from 1."""
    weight: float = Field(0.05, gt=0)
    """Weight of its loss; that of the translation has weight 1."""
    shift: bool = True
    """Teach the step that reads a word, which knows it, rather than the one that writes it."""


OWN_TO_PHASES = ("after", "dropout")
"""Settings of a phase that are not settings of all training."""
OptimizerName = Literal["adam", "adamw", "sgd", "nesterov", "muon"]
Budget = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class OptimisationPhase(Settings):
    """A later part of training with other settings; those left out are inherited, the optimiser's state is reset."""

    after: float = Field(gt=0, lt=1)
    """Share of the budget after which it begins; it ends where the next begins, or with the budget."""
    optimizer: OptimizerName | None = None
    """As `training.optimizer`."""
    learning_rate: float | None = Field(None, gt=0, allow_inf_nan=False)
    """As `training.learning_rate`: the peak of this phase."""
    momentum: float | None = Field(None, ge=0, lt=1)
    """As `training.momentum`."""
    schedule: ScheduleName | None = None
    """As `training.schedule`; the shares and steps it sees are those of the phase."""
    warmup: int | None = Field(None, ge=0)
    """As `training.warmup`, in steps of the phase."""
    dropout: bool = True
    """Whether anything is dropped in this phase."""


class PhaseSettings(OptimisationPhase):
    """A later part of a translator's training with other settings; those left out are inherited."""

    reward: RewardSettings | None = None
    """As `training.reward`."""


class OptimisationSettings(Settings):
    """How the weights of any model are trained. At least one budget is needed: steps, epochs, minutes, tokens or flops.

    The first that is used up ends the training.
    """

    steps: int | None = Field(None, ge=1)
    """Optimiser steps."""
    epochs: Budget | None = None
    """Passes over the training corpus."""
    minutes: Budget | None = None
    """Wall time of training, validation included, over all sessions."""
    tokens: int | None = Field(None, ge=1)
    """Target tokens, counted each time they are seen."""
    flops: Budget | None = None
    """Floating-point operations of the training steps, forward and backward (counted for one step in a hundred)."""
    batch_tokens: int = Field(4000, ge=1)
    """Largest batch: rows times longest sentence, in tokens of the longer side."""
    tokens_per_step: int | None = Field(None, ge=1)
    """Target tokens behind each optimiser step, gathered over batches; by default one batch is one step."""
    optimizer: OptimizerName = "adamw"
    """adam (Kingma and Ba 2015); adamw, with decoupled weight decay (Loshchilov and Hutter 2019); sgd; nesterov, its momentum
    looking ahead (Sutskever et al. 2013); muon (Jordan et al. 2024) for the matrices of layers, adamw for all else."""
    learning_rate: float = Field(1e-3, gt=0, allow_inf_nan=False)
    """Peak of the schedule."""
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (0.9, 0.98)
    """adam, adamw and muon: decay of Adam's two averages."""
    momentum: float = Field(0.0, ge=0, lt=1)
    """sgd and nesterov: how much of the last step is repeated. muon always has 0.95."""
    epsilon: float = Field(1e-9, gt=0, allow_inf_nan=False)
    """adam, adamw and muon: added to Adam's denominator."""
    weight_decay: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Pull of matrices towards zero; biases, norms and embeddings are left alone. Not for adam, which would scale it up."""
    schedule: ScheduleName = "inverse_root"
    """Shape of the learning rate after warm-up: inverse_root, cosine, linear, constant, plateau (a tenth after each validation
    that is not the best) or halving (after 60% of the budget and each 10% more)."""
    warmup: int = Field(1000, ge=0)
    """Steps of linear rise before it."""
    clip: float = Field(1.0, gt=0)
    """Largest norm of the gradient."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability spread evenly over all tokens (Szegedy et al. 2016)."""
    phases: tuple[OptimisationPhase, ...] = ()
    """Later parts of training with other settings, in order."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of matrix products. auto: bfloat16 where this machine is measured to be faster with it."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train; auto takes a GPU where there is one."""
    threads: int | None = Field(None, ge=1)
    """CPU threads; by default one or as many as cores, whichever takes the first batches in less time."""
    validate_every: int = Field(500, ge=1)
    """Steps between validations on the dev corpus."""
    validate_sentences: int = Field(1000, ge=1)
    """Dev sentences that are used, the first ones; for dev BLEU they are translated greedily."""
    metric: Literal["bleu", "loss"] = "loss"
    """Dev metric that chooses the best checkpoint and stops early."""
    patience: int | None = Field(None, ge=1)
    """Stop after so many validations without a better one."""
    save_minutes: float = Field(5.0, gt=0, allow_inf_nan=False)
    """Checkpoint at least this often, in minutes: so much work a crash may cost."""
    log_every: int = Field(50, ge=1)
    """Steps between records in metrics.jsonl."""
    tensorboard: bool = False
    """Also write TensorBoard events (needs the extra `tensorboard`)."""

    @model_validator(mode="after")
    def _check(self) -> "OptimisationSettings":
        budgets = (self.steps, self.epochs, self.minutes, self.tokens, self.flops)
        if all(budget is None for budget in budgets):
            raise ValueError(
                "`training` needs a budget: set `training.steps`, `training.epochs`, `training.minutes`, `training.tokens` or "
                "`training.flops`"
            )
        if any(first.after >= second.after for first, second in pairwise(self.phases)):
            raise ValueError("`training.phases` must begin one after the other; put them in order of `after`")
        for number in range(len(self.phases) + 1):
            now = self.in_phase(number)
            if now.optimizer == "nesterov" and not now.momentum:
                raise ValueError("`training.optimizer: nesterov` needs a momentum; set `training.momentum: 0.99`")
            if now.optimizer == "adam" and now.weight_decay:
                raise ValueError(
                    "`training.weight_decay` with `training.optimizer: adam` is scaled up by Adam until little is learned; set "
                    "it to 0, or choose adamw"
                )
        return self

    @property
    def kept_weights(self) -> int:
        """How many of the last validations keep their weights, next to the best ones."""
        return 0

    def in_phase(self: Own, number: int) -> Own:
        """Return the settings as they are in a phase; 0 is what comes before `phases`."""
        if number == 0:
            return self
        phase = self.phases[number - 1]
        given = {name: getattr(phase, name) for name in type(phase).model_fields if name not in OWN_TO_PHASES}
        return self.model_copy(update={name: value for name, value in given.items() if value is not None})

    def phase_at(self, share: float) -> tuple[int, float]:
        """Return the phase in which a share of the budget has been used, and how much of that phase.

        >>> phases = (OptimisationPhase(after=0.5), OptimisationPhase(after=0.8))
        >>> settings = OptimisationSettings(steps=10, phases=phases)
        >>> [settings.phase_at(share) for share in (0.25, 0.5, 0.9)]
        [(0, 0.5), (1, 0.0), (2, 0.5)]
        """
        edges = [0.0, *(phase.after for phase in self.phases), 1.0]
        number = sum(share >= phase.after for phase in self.phases)
        begin, end = edges[number], edges[number + 1]
        return number, round((share - begin) / (end - begin), 9)


class TrainingSettings(OptimisationSettings):
    """How a translator or a language model is trained.

    At least one budget must be given: `steps`, `epochs`, `minutes`, `tokens` or `flops`. The first that is used up ends the
    training.
    """

    metric: Literal["bleu", "loss"] = "bleu"
    """Dev metric that chooses the best checkpoint and stops early; language models have only loss."""
    phases: tuple[PhaseSettings, ...] = ()
    """Later parts of training with other settings, in order."""
    objective: Annotated[Literal["translation"], *or_plugin("objective")] = "translation"
    """The loss. translation: cross-entropy of the target given the source, with the terms below; a plugin may provide others."""
    reward: RewardSettings | None = None
    """Learn from the reward of sampled translations as well as from the likelihood (Wu et al. 2016, section 5)."""
    guided: GuidedSettings | None = None
    """Teach one head word alignments, which a training corpus must have (its setting `links`)."""
    recurrence: Literal["auto", "native", "plain"] = "auto"
    """Loops of the models rnn, gnmt, deep_att and moe. native: as one operation each in C++, compiled once on this machine.
    plain: position by position. auto: native on a CPU where a C++ compiler is found."""
    compile: Literal["none", "model", "graphs"] = "none"
    """What torch compiles. model: a Transformer, as one program for batches of all shapes; it pays on a GPU where training takes
    hours, since the first steps take minutes, and hardly on a CPU. graphs: the loop of a recurrent decoder, recorded on a GPU for
    each shape of batches; it pays where models are small and the GPU waits for Python. Not yet measured on a GPU."""
    padding: Literal["masked", "packed"] = "masked"
    """Padding in attention with heads. packed: on a GPU and in bfloat16 it is left out, by torch's kernel for sentences of
    different lengths; masked elsewhere, with `attention_dropout`, and where relative positions or other scores need more. Not
    yet measured on a GPU."""
    keep: int = Field(5, ge=0)
    """Keep the weights of the last N validations, for averaging."""
    average: int = Field(0, ge=0)
    """At the end, try the average of the last N kept weights (2 or more), and take it where dev says it is better."""

    @model_validator(mode="after")
    def _check_average(self) -> "TrainingSettings":
        if self.average > self.keep:
            raise ValueError("`training.average` cannot exceed `training.keep`, the number of weights that are kept")
        return self

    @property
    def kept_weights(self) -> int:
        """How many of the last validations keep their weights, next to the best ones."""
        return self.keep
