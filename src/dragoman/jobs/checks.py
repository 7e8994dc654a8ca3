"""What is refused before a training begins: settings that nothing would read, and settings that do not fit together.

`check_recipe` looks at the recipe alone, `check_machine` at this computer too, `check_corpus` at the encoded corpus. None of
them makes a model or trains, so whoever plans or diagnoses a training can ask them.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Protocol, get_args, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dragoman.attention.scores import ScoreName
from dragoman.data.settings import LinesSettings
from dragoman.errors import CorpusError, SettingsError
from dragoman.inference.checks import MODEL, Use
from dragoman.layers.positions import PositionsName
from dragoman.machine.memory import free_memory
from dragoman.models.build import build_model
from dragoman.models.capabilities import Capabilities, capabilities_of
from dragoman.models.classifier import DocumentClassifier
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.recipe import Recipe
from dragoman.runs.rules import Rule, refusals
from dragoman.settings import Settings
from dragoman.training.settings import OptimisationSettings

ADAPTIVE = ("adam", "adamw", "muon")
"""Optimisers that read `betas` and `epsilon`; muon does for all but the matrices of layers."""
MOMENTUM = ("sgd", "nesterov")
"""Optimisers that read `momentum`."""
MOMENTS = {"adam": 2, "adamw": 2, "muon": 2, "nesterov": 1, "sgd": 0}
"""How many numbers each optimiser keeps of a weight, at most."""
BYTES = 4
"""Bytes of a weight, and of each number that training keeps of it."""
THREADS = 64
"""So many threads may be asked for on any machine, and four for each core where that is more."""

BUILT_IN: Mapping[str, tuple[str | None, ...]] = {
    "positions": (None, *get_args(PositionsName)),
    **{name: (None, *get_args(ScoreName)) for name in ("score", "self_score", "cross_score")},
}
"""Values that do not come from a plugin."""
LARGEST_OF_PAPER = 0.04
"""GNMT's `initial_range`; with it, layers below `ENOUGH` units hardly learn."""
ENOUGH = 512
"""Units of a layer that learns from first weights of that size."""
SMALLEST = 5
"""Size of the smallest vocabulary."""

Works = Callable[[Any, Any], bool]


def _model(recipe: Any) -> Capabilities:
    """Return what the model of a recipe can do."""
    return capabilities_of(recipe.model)


def _can(name: str) -> Works:
    """Return what tells whether the model has a capability."""
    return lambda recipe, _: bool(getattr(_model(recipe), name))


def _optimised_by(optimizers: Sequence[str], setting: str) -> Works:
    """Return what tells whether one of the optimisers ever runs with the value that `training` has for a setting."""

    def works(_: Any, training: OptimisationSettings) -> bool:
        phases = [training.in_phase(number) for number in range(len(training.phases) + 1)]
        value = getattr(training, setting)
        return any(one.optimizer in optimizers and getattr(one, setting) == value for one in phases)

    return works


def _compiles(way: str, works: Works) -> Works:
    """Return what tells whether a condition of one way to compile holds, or another way was chosen."""
    return lambda recipe, training: training.compile != way or works(recipe, training)


def _linked(recipe: Any, _: Any) -> bool:
    """Tell whether some training corpus has word alignments."""
    return any(isinstance(corpus, LinesSettings) and corpus.links is not None for corpus in recipe.data.train)


def _all_linked(recipe: Any, text: Any) -> bool:
    """Tell whether every training corpus has word alignments, where unknown words need them to be translated."""
    if text.unknown == "plain" or not _model(recipe).translates:
        return True
    links = [isinstance(corpus, LinesSettings) and corpus.links is not None for corpus in recipe.data.train]
    return all(links)


def _one_step_a_batch(recipe: Any, training: Any) -> bool:
    """Tell whether each step is the likelihood of one batch and nothing else."""
    rewards = (training.reward, *(phase.reward for phase in training.phases))
    return training.guided is None and training.tokens_per_step is None and all(one is None for one in rewards)


def _bounded(recipe: Any, _: Any) -> bool:
    """Tell whether the model bounds the length of sentences, or a plugin may do so."""
    model = _model(recipe)
    plugins = any(getattr(recipe.model, name, None) not in known for name, known in BUILT_IN.items())
    return plugins or model.source_positions is not None or model.target_positions is not None


def _head_exists(axis: int, name: str) -> Works:
    """Return what tells whether the guided layer (or head) is one that the model has."""

    def works(recipe: Any, guided: Any) -> bool:
        heads = _model(recipe).source_heads
        return heads is None or getattr(guided, name) <= heads[axis]

    return works


OPTIMISATION = (
    Rule(
        "training.momentum",
        _optimised_by(MOMENTUM, "momentum"),
        "works only with `training.optimizer` sgd or nesterov, not {own.optimizer}",
    ),
    Rule(
        "training.phases.*.momentum",
        lambda recipe, phase: (phase.optimizer or recipe.training.optimizer) in MOMENTUM,
        "works only in a phase whose `optimizer` is sgd or nesterov",
    ),
    *(
        Rule(
            f"training.{name}",
            _optimised_by(ADAPTIVE, name),
            "works only with `training.optimizer` adam, adamw or muon, not {own.optimizer}",
        )
        for name in ("betas", "epsilon")
    ),
)
"""What the optimiser reads, whatever the task."""

OBJECTIVE = (
    Rule(
        "training.metric",
        lambda recipe, training: training.metric != "bleu" or _model(recipe).translates,
        "measures translations, which a model of the kind `{whole.model.kind}` does not make",
        remedy="set `training.metric: loss`",
        even_default=True,
    ),
    *(
        Rule(setting, _can("translates"), "works only for translation models, not for `model.kind: {whole.model.kind}`")
        for setting in ("training.reward", "training.phases.*.reward")
    ),
    Rule(
        "training.objective",
        lambda recipe, _: _model(recipe).purpose != "fill",
        "cannot replace the loss of `model.kind: {whole.model.kind}`",
    ),
    Rule(
        "training.guided",
        _can("attends"),
        "teaches a head over the source, which `model.kind: {whole.model.kind}` as it is set does not have",
    ),
    Rule(
        "training.guided",
        _linked,
        "learns from word alignments, but no training corpus has any",
        remedy="set `links` of a corpus in `data.train`, or remove it",
    ),
    *(
        Rule(
            f"training.guided.{name}",
            _head_exists(axis, name),
            f"is beyond the model's attention to the source, which has {{whole.model.capabilities.source_heads[{axis}]}}",
            remedy="choose a smaller one",
        )
        for axis, name in enumerate(("layer", "head"))
    ),
)
"""What is learned and measured."""

COMPUTING = (
    Rule(
        "training.recurrence",
        _can("native"),
        "is for `model.kind` rnn, gnmt, deep_att and moe, not for {whole.model.kind}",
    ),
    Rule(
        "training.padding",
        _can("packs"),
        "needs multi-head attention by scaled dot products and softmax, without attention dropout and with no relative "
        "positions but rotary, which this `model` does not have",
    ),
    Rule(
        "training.compile",
        _compiles("model", _can("one_program")),
        "is for `model.kind` transformer, masked_lm and decoder_only, not for {whole.model.kind}",
    ),
    Rule(
        "training.compile",
        _compiles("graphs", _can("stepwise")),
        "is for decoders that go position by position: bahdanau and posterior, luong with input feeding, and gnmt",
    ),
    Rule(
        "training.compile",
        lambda recipe, _: not _model(recipe).data_dependent,
        "does not support `{whole.model.capabilities.data_dependent[0]}`, which makes the computation depend on data or chance",
    ),
    Rule(
        "training.compile",
        _compiles("graphs", _one_step_a_batch),
        "does not support `training.guided`, `training.tokens_per_step` or any `reward`",
    ),
)
"""How it is computed."""

TEXT = (
    Rule(
        "text.sampling",
        lambda recipe, _: _model(recipe).purpose != "classify",
        "does not work for classifiers, which cut their text one way",
    ),
    Rule("text.joint", lambda recipe, _: _model(recipe).purpose != "classify", "needs two languages"),
    Rule("text.unknown", _can("translates"), "works only for translation models"),
    Rule(
        "text.unknown",
        _all_linked,
        "needs word alignments of every training corpus",
        remedy="make them with `dragoman align` and give the file as `links` of the corpus",
    ),
    Rule("text.reach", lambda _, text: text.unknown == "positional", "works only with `text.unknown: positional`"),
    *(Rule(f"data.{part}.*.repeat", lambda *_: False, "works only for training corpora") for part in ("dev", "test")),
)
"""How text is read."""

MODELS = (
    Rule("model.max_positions", _bounded, "works only with learned positions or the score `location`"),
    Rule(
        "model.deep_output",
        lambda _, model: model.decoder == "bahdanau",
        "works only with `model.decoder: bahdanau`, not {own.decoder}",
    ),
    Rule(
        "model.score",
        lambda _, model: getattr(model, "decoder", None) != "plain",
        "needs attention, but `model.decoder: plain` has none",
    ),
    Rule(
        "model.marginal",
        lambda _, model: model.decoder != "posterior",
        "adds nothing to `model.decoder: posterior`, which predicts from each source position anyway",
    ),
    Rule("model.attention_dropout", _can("drops_attention"), "works only where an average of the source is taken"),
    Rule(
        "model.dropout",
        lambda _, model: getattr(model, "outer_dropout", None) is None or model.layers > 1,
        "is between layers where `model.outer_dropout` is set, but `model.layers` is 1",
    ),
    Rule("model.gated", lambda _, model: model.experts is None, "does not work with `model.experts`"),
    Rule(
        "model.hard.temperature",
        lambda _, hard: hard.training == "gumbel",
        "works only with `model.hard.training: gumbel`",
    ),
    *(
        Rule(
            f"model.hard.{name}",
            lambda _, hard: hard.training == "reinforce",
            "works only with `model.hard.training: reinforce`",
        )
        for name in ("soft_share", "entropy_bonus", "reward_scale", "baseline_decay")
    ),
    Rule(
        "model.experts.load", lambda _, experts: experts.gate == "noisy", "works only with `model.experts.gate: noisy`"
    ),
)
"""What the parts of a model read."""

RULES = (*OPTIMISATION, *OBJECTIVE, *COMPUTING, *TEXT, *MODELS)


def check_recipe(recipe: Settings, *, begun: Settings | None = None) -> list[str]:
    """Refuse (SettingsError) the first setting of a recipe, of a translator or a classifier, that nothing would read.

    What the recipe of a run that was `begun` ignores already is not refused, for it cannot be changed any more: its
    sentences are returned.
    """
    known = [] if begun is None else _refusals(begun)
    found = _refusals(recipe)
    for sentence in found:
        if sentence not in known:
            raise SettingsError(sentence)
    return found


def _refusals(recipe: Settings) -> list[str]:
    """Return a sentence for each setting of a recipe that nothing would read, or that does not fit the others."""
    return refusals(RULES, recipe) + refusals(MODEL, Use(getattr(recipe, "decoding", None), _model(recipe)))


def remarks(recipe: Settings) -> list[str]:
    """Return what is worth saying of a recipe that is trained as it is."""
    return [remark for remark in (_about_warmup(recipe), _about_first_weights(recipe)) if remark]


def _about_warmup(recipe: Settings) -> str:
    """Say where the learning rate never reaches its peak."""
    training = _training(recipe)
    first = training.phases[0].after if training.phases else 1.0
    if training.steps is None or training.warmup < training.steps * first:
        return ""
    return (
        f"The learning rate never reaches its peak: `training.warmup` is {training.warmup} steps, and `training.steps` ends it "
        f"after {round(training.steps * first)}."
    )


def _about_first_weights(recipe: Any) -> str:
    """Say where first weights are too small for the layers to pass anything on."""
    bound, hidden = getattr(recipe.model, "initial_range", None), getattr(recipe.model, "hidden", ENOUGH)
    if bound is None or bound > LARGEST_OF_PAPER or hidden >= ENOUGH:
        return ""
    return (
        f"Layers of {hidden} learn little from weights that start as small as `model.initial_range: {bound}`, which is for "
        "layers of 1024; set `model.initial_range: null`."
    )


def check_machine(recipe: Settings, device: torch.device) -> None:
    """Refuse (SettingsError) what this machine does not have: memory for the model, packages, threads, a GPU."""
    training = _training(recipe)
    if training.tensorboard and find_spec("tensorboard") is None:
        raise SettingsError(
            "`training.tensorboard` needs a package that is not installed; install it with "
            '`pip install "dragoman[tensorboard]"`, or remove the setting'
        )
    most = max(THREADS, 4 * (os.cpu_count() or 1))
    if training.threads is not None and training.threads > most:
        raise SettingsError(
            f"`training.threads: {training.threads}` is more than this machine can use; set at most {most}, or remove it"
        )
    if getattr(training, "compile", "none") == "graphs" and device.type != "cuda":
        raise SettingsError(
            "`training.compile: graphs` records what a GPU does, and training is on a CPU; set `training.compile: none`"
        )
    _check_memory(recipe, device)


def _training(recipe: Any) -> OptimisationSettings:
    """Return the section `training` of a recipe."""
    training: OptimisationSettings = recipe.training
    return training


def _check_memory(recipe: Any, device: torch.device) -> None:
    """Refuse a model whose weights, gradients and optimiser state alone are larger than the memory that is free."""
    free = free_memory(device.type)
    try:
        weights = count_weights(recipe)
    except (RuntimeError, OverflowError):  # more than an address can say
        raise SettingsError("this `model` is larger than any memory; choose smaller sizes in `model`") from None
    needed = weights * BYTES * (2 + MOMENTS[recipe.training.optimizer])
    if free is not None and needed > free:
        raise SettingsError(
            f"this `model` has at least {weights:.2g} weights, which take {needed / 2**30:,.1f} GiB with their gradients and the "
            f"optimiser's state, but only {free / 2**30:,.1f} GiB of memory are free; choose smaller sizes in `model`"
        )


def count_weights(recipe: Any) -> int:
    """Return how many weights the model of a recipe has at least, without making them; its vocabularies may be larger."""
    size = recipe.text.size or SMALLEST
    with torch.device("meta"):
        if _model(recipe).purpose == "classify":
            model: nn.Module = DocumentClassifier(recipe.model, size, 2)
        else:
            model = build_model(recipe.model, Vocabularies(size, size, shared=True))
        return sum(weight.numel() for weight in model.parameters())


@runtime_checkable
class EncodedCorpus(Protocol):
    """What `check_corpus` asks of an encoded training corpus, such as a `Store`."""

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        """Tokens of each source, without </s>."""
        ...

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        """Tokens of each target, without </s>."""
        ...

    def text(self, index: int) -> tuple[str, str]:
        """Return both sides of a pair as text."""
        ...


def check_corpus(store: EncodedCorpus, recipe: Recipe) -> None:
    """Refuse training sentences that are longer than the model's positions, and a window that hides nothing of any of them."""
    _check_lengths(store, _model(recipe))
    window = _model(recipe).window
    longest = int(store.source_lengths.max()) + 1
    if window is not None and window.reach >= longest:
        raise SettingsError(
            f"`model.window.reach` is {window.reach}, but the longest training sentence has {longest} tokens (with </s>), so the "
            "window would hold all of every sentence; set a smaller one, or remove `model.window`"
        )


def _check_lengths(store: EncodedCorpus, model: Capabilities) -> None:
    """Refuse (CorpusError) training sentences longer than the model's positions."""
    bounds = (model.source_positions, model.target_positions)
    for number, (lengths, bound) in enumerate(zip((store.source_lengths, store.target_lengths), bounds, strict=True)):
        longest = int(lengths.argmax())
        tokens = int(lengths[longest]) + 1
        if bound is not None and tokens > bound:
            raise CorpusError(
                f"a training sentence has {tokens} tokens (with </s>), more than the {bound} positions of the model "
                f"(`{store.text(longest)[number][:80]}`); set a larger model.max_positions, or a smaller data.filters.max_words"
            )
