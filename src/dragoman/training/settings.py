"""Settings of training."""

from itertools import pairwise
from typing import Annotated, Literal, TypeVar

from pydantic import Field, model_validator

from dragoman.plugins import or_plugin
from dragoman.settings import Settings
from dragoman.training.budgets import BUDGETS
from dragoman.training.consistency_settings import ConsistencySettings, RDropSettings
from dragoman.training.expected_reward_settings import RewardSettings
from dragoman.training.schedules import ScheduleName

Own = TypeVar("Own", bound="OptimisationSettings")


class GuidedSettings(Settings):
    """Supervises one attention head with word alignments while the model learns to translate (Garg et al. 2019)."""

    layer: int = Field(1, ge=1)
    """Decoder layer of the head, counted from 1."""
    head: int = Field(1, ge=1)
    """The head, counted from 1."""
    weight: float = Field(0.05, ge=0)
    """Weight of the alignment loss; the translation loss has weight 1. 0 supervises no head: only `lexicon` uses the links."""
    shift: bool = True
    """Supervise the step that takes a word as input, which knows the word, instead of the step that predicts it."""
    links: Literal["corpus", "learned"] = "corpus"
    """Where the alignments are from. corpus: its setting `links`. learned: pairs without any get those of a statistical aligner,
    learned from the training corpus (as in fast_align, Dyer et al. 2013)."""
    lexicon: bool = False
    """Start each source embedding as the average of the embeddings of the target tokens linked to it, so that `model.lexical`
    begins with a lexicon (averages as in Minixhofer et al. 2022, with links in place of dictionaries)."""

    @model_validator(mode="after")
    def _check_use(self) -> "GuidedSettings":
        if not self.weight and not self.lexicon:
            raise ValueError(
                "`training.guided.weight: 0` supervises nothing, so `lexicon: true` must use the links; or leave out `guided`"
            )
        return self


OWN_TO_PHASES = ("after", "dropout")
"""Settings of a phase that training as a whole does not have."""
OptimizerName = Literal["adam", "adamw", "sgd", "nesterov", "muon"]
Budget = Annotated[float, Field(gt=0)]


class OptimisationPhase(Settings):
    """A later phase of training; settings left out are inherited, optimiser state is reset."""

    after: float = Field(gt=0, lt=1)
    """Share of the budget after which the phase begins; it ends where the next one begins, or with the budget."""
    optimizer: OptimizerName | None = None
    """As `training.optimizer`."""
    learning_rate: float | None = Field(None, gt=0)
    """As `training.learning_rate`: the peak of this phase."""
    momentum: float | None = Field(None, ge=0, lt=1)
    """As `training.momentum`."""
    schedule: ScheduleName | None = None
    """As `training.schedule`, relative to the phase."""
    warmup: int | None = Field(None, ge=0)
    """As `training.warmup`, in steps of the phase."""
    dropout: bool = True
    """Whether dropout is active in this phase."""


class PhaseSettings(OptimisationPhase):
    """A later phase of training; settings left out are inherited, optimiser state is reset."""

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
    """Wall-clock time of training, including validation, over all sessions."""
    tokens: int | None = Field(None, ge=1)
    """Target tokens, counted every time they are seen."""
    flops: Budget | None = None
    """Floating-point operations of training, forward and backward (estimated from one step in a hundred)."""
    batch_tokens: int = Field(4000, ge=1)
    """Maximum batch size in tokens: sentences times the length of the longest, on the longer side."""
    tokens_per_step: int | None = Field(None, ge=1)
    """Target tokens per optimiser step; gradients are accumulated over batches. By default each batch is a step."""
    optimizer: OptimizerName = "adamw"
    """adam (Kingma and Ba 2015); adamw, with decoupled weight decay (Loshchilov and Hutter 2019); sgd; nesterov, sgd
    with Nesterov momentum (Sutskever et al. 2013); muon (Jordan et al. 2024) for weight matrices, with adamw for the rest."""
    learning_rate: float = Field(1e-3, gt=0)
    """Peak learning rate."""
    embedding_rate: float = Field(1.0, gt=0)
    """muon: learning rate of what adamw updates (embeddings, output layers, convolutions, biases, norms), as a multiple of
    `learning_rate`."""
    betas: tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]] = (0.9, 0.98)
    """adam, adamw and muon: Adam's beta 1 and beta 2."""
    momentum: float = Field(0.0, ge=0, lt=1)
    """sgd and nesterov: momentum. muon always uses 0.95."""
    epsilon: float = Field(1e-9, gt=0)
    """adam, adamw and muon: Adam's epsilon."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay of matrices; biases, norms and embeddings have none. Not for adam, which would scale it up."""
    schedule: ScheduleName = "inverse_root"
    """Learning-rate schedule after warm-up: inverse_root, cosine, linear, constant, plateau (divided by 10 after each validation
    that does not improve) or halving (after 60% of the budget and each further 10%)."""
    warmup: int = Field(1000, ge=0)
    """Steps of linear warm-up."""
    clip: float = Field(1.0, gt=0, allow_inf_nan=True)
    """Maximum gradient norm; longer gradients are clipped. `.inf` clips none."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Label smoothing: probability spread evenly over all tokens (Szegedy et al. 2016)."""
    ema: float = Field(0.0, ge=0, lt=1)
    """Exponential moving average of the weights: its decay per step, for example 0.999; 0 turns it off. The averaged weights are
    validated and kept; training itself goes on with the plain ones."""
    phases: tuple[OptimisationPhase, ...] = ()
    """Later phases of training with other settings, in order."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Arithmetic of matrix products. auto: bfloat16 if it is measured to be faster on this machine."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train; auto uses a GPU if there is one."""
    threads: int | None = Field(None, ge=1)
    """CPU threads; by default one or as many as cores, whichever is faster on the first batches."""
    validate_every: int = Field(500, ge=1)
    """Steps between validations on the dev corpus."""
    validate_sentences: int = Field(1000, ge=1)
    """Number of dev sentences used, from the first; for dev BLEU they are translated with greedy search."""
    metric: Literal["bleu", "loss"] = "loss"
    """Dev metric for choosing the best checkpoint and for early stopping."""
    patience: int | None = Field(None, ge=1)
    """Early stopping: stop after this many validations without improvement."""
    save_minutes: float = Field(5.0, gt=0)
    """Checkpoint at least this often, in minutes: a crash costs at most this much work."""
    log_every: int = Field(50, ge=1)
    """Steps between records in metrics.jsonl."""
    tensorboard: bool = False
    """Also write TensorBoard events (needs the extra `tensorboard`)."""

    @model_validator(mode="after")
    def _check(self) -> "OptimisationSettings":
        if all(getattr(self, budget) is None for budget in BUDGETS):
            raise ValueError(f"`training` needs a budget: set one of `training.{'`, `training.'.join(BUDGETS)}`")
        if any(first.after >= second.after for first, second in pairwise(self.phases)):
            raise ValueError("`training.phases` must start one after the other; put them in order of `after`")
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
        """Return how many of the last validations keep their weights, in addition to the best ones."""
        return 0

    def in_phase(self: Own, number: int) -> Own:
        """Return the settings of a phase; 0 is the time before `phases`."""
        if number == 0:
            return self
        phase = self.phases[number - 1]
        given = {name: getattr(phase, name) for name in type(phase).model_fields if name not in OWN_TO_PHASES}
        return self.model_copy(update={name: value for name, value in given.items() if value is not None})

    def phase_at(self, share: float) -> tuple[int, float]:
        """Return the phase at a used share of the budget, and the used share of that phase.

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
    """Dev metric for choosing the best weights and for early stopping; with BLEU up to 2 % below the highest, weights are better
    if their dev loss is lower. Language models have only loss, which is their default."""
    phases: tuple[PhaseSettings, ...] = ()
    """Later phases of training with other settings, in order."""
    objective: Annotated[Literal["translation"], *or_plugin("objective")] = "translation"
    """The loss. translation: cross-entropy of the target given the source, with the terms below; a plugin may provide others."""
    reward: RewardSettings | None = None
    """Learn from the reward of sampled translations as well as from the likelihood (Wu et al. 2016, section 5)."""
    consistency: ConsistencySettings | None = None
    """Train for consistent predictions, which takes two passes per step: `kind: r_drop` or `kind: simcut`."""
    frozen: Literal["none", "embeddings"] = "none"
    """Weights of `model.start_from` that are not trained: embeddings, and an output layer tied to them. Steps are faster and
    memory is saved, and rare words keep what they learned in more text."""
    word_dropout: float = Field(0.0, ge=0, lt=1)
    """Replace tokens that the model reads, on both sides, by <unk> with this probability (Nguyen and Salazar 2019 use 0.1)."""
    guided: GuidedSettings | None = None
    """Supervise one attention head with word alignments: those of a corpus (its setting `links`), or learned ones."""
    replicas: int | None = Field(None, ge=1)
    """Copies of a Transformer that compute parts of a batch at the same time, each with its share of the CPU threads; by default
    one for each thread and 500 tokens of a batch."""
    shard: bool = False
    """Divide weights, gradients and the optimiser's state among the processes of `torchrun` (FSDP2), for models that are too
    large for each of them. What is saved does not depend on it."""
    recurrence: Literal["auto", "native", "plain"] = "auto"
    """How the recurrent loops of rnn, gnmt, deep_att and moe run. native: each as one C++ operation, compiled once on this
    machine. plain: position by position. auto: native on a CPU if a C++ compiler is found."""
    compile: Literal["none", "model", "graphs"] = "none"
    """What to compile. model: a Transformer, with torch.compile, for all batch shapes; worthwhile for hours of training on a GPU,
    as the first steps take minutes, and hardly on a CPU. graphs: the loop of a recurrent decoder, as one CUDA graph per batch
    shape; worthwhile if the model is small and the GPU waits for Python. Not yet measured on a GPU."""
    padding: Literal["masked", "packed"] = "masked"
    """Padding in multi-head attention. packed: on a GPU in bfloat16, padding is skipped with torch's variable-length kernel; it
    is still masked on a CPU, with `attention_dropout`, and for relative positions and scores that the kernel lacks. Not yet
    measured on a GPU."""
    keep: int = Field(5, ge=0)
    """Keep the weights of the last N validations, for averaging."""
    average: int = Field(0, ge=0)
    """At the end, also evaluate the average of the last N kept weights (2 or more; 0 and 1 average nothing), and use it if it is
    better on dev."""

    @model_validator(mode="after")
    def _check_average(self) -> "TrainingSettings":
        if self.average > self.keep:
            raise ValueError("`training.average` cannot exceed `training.keep`, the number of weights that are kept")
        return self

    @property
    def supervised(self) -> GuidedSettings | None:
        """Return how a head is supervised; None if none is."""
        return self.guided if self.guided is not None and self.guided.weight else None

    @property
    def rewards(self) -> list[RewardSettings]:
        """Return the rewards of all phases."""
        every = (self.reward, *(phase.reward for phase in self.phases))
        return [reward for reward in every if reward is not None]

    @property
    def kept_weights(self) -> int:
        """Return how many of the last validations keep their weights, in addition to the best ones."""
        return self.keep

    def in_phase(self, number: int) -> "TrainingSettings":
        """Return the settings of a phase; 0 is the time before `phases`.

        One without dropout has no word dropout either, and one pass in place of R-Drop's two, which would be equal.
        """
        now = super().in_phase(number)
        if number == 0 or self.phases[number - 1].dropout:
            return now
        kept = None if isinstance(now.consistency, RDropSettings) else now.consistency
        return now.model_copy(update={"word_dropout": 0.0, "consistency": kept})
