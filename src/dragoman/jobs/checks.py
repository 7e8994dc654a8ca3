"""Check a training before it starts: refuse settings that would be ignored, and settings that do not fit together.

`check_recipe` looks at the recipe only, `check_rerank` at the runs that it names, `check_machine` at this computer,
`check_corpus` at the encoded corpus, `check_tests` at the test corpora. None of them trains, so they can also be used to plan or
diagnose a training.
"""

import math
import os
from importlib.util import find_spec
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.data.corpus import read_pairs
from dragoman.errors import CorpusError, DragomanError, SettingsError
from dragoman.inference.checks import MODEL, Use, check_decoding
from dragoman.inference.scorers import load_scorers
from dragoman.jobs.memory import Outline, outline_of, static_memory
from dragoman.jobs.parts import model_of, splittable
from dragoman.jobs.rules import RULES
from dragoman.machine.memory import free_memory
from dragoman.models.build import plugged
from dragoman.models.capabilities import Capabilities
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer import require_one_vocabulary
from dragoman.models.transformer_settings import EncoderSettings, TransformerSettings
from dragoman.runs.folder import ORIGINAL, open_run
from dragoman.runs.recipe import Recipe
from dragoman.runs.rules import refusals
from dragoman.settings import Settings
from dragoman.text.codec import Codec
from dragoman.text.frames import shortened
from dragoman.training.settings import OptimisationSettings

THREADS = 64
"""Maximum number of threads on any machine; four per core if that is more."""

LARGEST_OF_PAPER = 0.04
"""GNMT's `initial_range`; with it, layers below `ENOUGH` units hardly learn."""
ENOUGH = 512
"""Units of a layer that learns from initial weights of that size."""
SMALLEST = 5
"""Size of the smallest vocabulary."""


def check_recipe(recipe: Settings, *, begun: Settings | None = None) -> list[str]:
    """Raise SettingsError for the first setting of a translator's or classifier's recipe that would be ignored.

    Settings that were already ignored in the recipe of a run that was `begun` are not refused, because they can no longer be
    changed; messages about them are returned.
    """
    known = [] if begun is None else _refusals(begun)
    found = _refusals(recipe)
    for sentence in found:
        if sentence not in known:
            raise SettingsError(sentence)
    return found


def _refusals(recipe: Settings) -> list[str]:
    """Return a message for each setting of a recipe that would be ignored, or that does not fit the others."""
    return refusals(RULES, recipe) + refusals(MODEL, Use(getattr(recipe, "decoding", None), model_of(recipe)))


def check_corpora(recipe: Recipe) -> None:
    """Raise SettingsError for a recipe that names nothing to train on, as that of an imported run."""
    for name in ("train", "dev"):
        if not getattr(recipe.data, name):
            raise SettingsError(
                f"`data.{name}` names no corpus; name one, or, if the run was imported, train it further with `dragoman adapt`"
            )


def check_tied(recipe: Recipe) -> None:
    """Raise SettingsError if the embeddings of both languages are to be one, but a vocabulary will be learned for each.

    Vocabularies may be those of a run to start from, and what is tied may be left to `auto`.
    """
    model = recipe.model
    left = model.start_from is not None or (recipe.auto and "tied" not in model.model_fields_set)
    if isinstance(model, TransformerSettings) and not left:
        require_one_vocabulary(model, shared=recipe.text.joint)


def check_rerank(recipe: Recipe) -> None:
    """Raise SettingsError for a run of `decoding.rerank` that cannot rerank the translations of this recipe.

    The runs are loaded as they will be after training, so that nothing about them is found out only then.
    """
    if not recipe.decoding.rerank:
        return
    check_decoding(recipe.decoding, ["rerank"])
    try:
        load_scorers(recipe.decoding.rerank, recipe.data.directions.require_one("this recipe"), "cpu")
    except DragomanError as error:
        raise SettingsError(f"`decoding.rerank`: {error}") from None


def remarks(recipe: Settings) -> list[str]:
    """Return warnings about a recipe that can be trained."""
    return [remark for about in ABOUTS if (remark := about(recipe))]


def _about_warmup(recipe: Settings) -> str:
    """Warn if the learning rate does nothing but warm up."""
    training = _training(recipe)
    phase = training.phases[0].after if training.phases else None
    steps = None if training.steps is None else math.ceil(training.steps * (phase or 1.0))
    if steps is None or training.warmup < steps:
        return ""
    first = "" if phase is None else " before the first of `training.phases`"
    return (
        f"The warm-up of the learning rate does not end: `training.warmup` is {training.warmup} steps, and `training.steps` "
        f"gives {steps}{first}."
    )


def _about_schedule(recipe: Any) -> str:
    """Warn if the learning rate never falls although its schedule says so."""
    training = _training(recipe)
    phases = [training.in_phase(number) for number in range(len(training.phases) + 1)]
    if all(one.schedule != "inverse_root" or one.warmup for one in phases):
        return ""
    return (
        "The learning rate stays at its peak: with `training.schedule: inverse_root` it falls in proportion to the root of "
        "`training.warmup`, which is 0; set a warm-up, or `training.schedule: constant` if that is what you want."
    )


def _about_first_weights(recipe: Any) -> str:
    """Warn if initial weights are too small for the size of the layers."""
    bound, hidden = getattr(recipe.model, "initial_range", None), getattr(recipe.model, "hidden", ENOUGH)
    if bound is None or bound > LARGEST_OF_PAPER or hidden >= ENOUGH:
        return ""
    return (
        f"Layers of {hidden} learn little from initial weights as small as `model.initial_range: {bound}`, which is for "
        "layers of 1024; set `model.initial_range: null`."
    )


def _about_positions(recipe: Any) -> str:
    """Warn if an encoder does not see the order of words; a decoder sees it, as it attends to earlier positions only."""
    model = recipe.model
    if not isinstance(model, EncoderSettings) or model.self_score == "location":
        return ""
    if model.positions != "none" or model.relative != "none":
        return ""
    return (
        "The encoder does not see the order of words, because `model.positions` and `model.relative` are both none; set "
        "`model.relative: rotary`, for example."
    )


def _about_languages(recipe: Any) -> str:
    """Warn if a language is listed that no training corpus has, nor perhaps a run to start from."""
    data = recipe.data
    unseen = [f"`{language}`" for language in data.languages if language not in data.directions.languages]
    if not unseen or recipe.model.start_from is not None:
        return ""
    return f"No training corpus has {', '.join(unseen)} of `data.languages`, so the model will not translate it."


def _about_dev(recipe: Any) -> str:
    """Warn if a direction of several is in no dev corpus."""
    data = recipe.data
    measured = {direction for corpus in data.dev for direction in data.directions_of(corpus)}
    unseen = ["-".join(one) for one in data.directions.trained if one not in measured]
    if not data.tagged or not unseen:
        return ""
    return f"No dev corpus has {shortened(unseen)}, so the best weights are chosen without it; add one to `data.dev`."


def _about_start(recipe: Any) -> str:
    """Warn if a run to start from was trained in other languages; those of imported ones are known by other codes."""
    start = recipe.model.start_from
    for part, folder in ({} if start is None else start.runs).items():
        if not (folder / "manifest.json").exists():
            continue  # as is said where it is opened
        run = open_run(folder)
        if ORIGINAL in run.manifest:
            continue
        shared = {*run.directions.languages, *run.recipe.data.tags} if run.source.shares(run.target) else set()
        for side, name in enumerate(("source", "target")):
            learned, needed = ({one[side] for one in ways.trained} for ways in (run.directions, recipe.data.directions))
            learned |= shared
            unknown = [f"`{language}`" for language in sorted(needed - learned)]
            if unknown and part in ("whole", ("encoder", "decoder")[side]):
                return (
                    f"The {name} is {', '.join(unknown)}, but `model.start_from.{part}`, {folder}, was trained with "
                    f"{', '.join(f'`{language}`' for language in sorted(learned))}: neither its vocabulary nor its weights know "
                    "that language."
                )
    return ""


ABOUTS = (
    _about_warmup,
    _about_schedule,
    _about_first_weights,
    _about_positions,
    _about_languages,
    _about_dev,
    _about_start,
)
"""Each returns a remark about a recipe, or nothing."""


def check_machine(recipe: Settings, device: torch.device, processes: int = 1) -> None:
    """Raise SettingsError for what this machine lacks: packages, threads, a GPU, memory for a model without anything `auto`."""
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
            "`training.compile: graphs` needs a GPU, but training is on a CPU; set `training.compile: none`"
        )
    if (getattr(training, "replicas", None) or 1) > 1 and device.type != "cpu":
        raise SettingsError(
            "`training.replicas` shares a batch among the cores of a CPU, but training is on a GPU; remove it, or set "
            "`training.device: cpu`"
        )
    if not getattr(recipe, "auto", ()):
        _check_memory(recipe, device, processes)


def check_shared(recipe: Settings, processes: int, *, begun: bool = False) -> None:
    """Raise SettingsError if several processes cannot share the steps of a training, or there is one for what needs several.

    One process may go on with a run that was `begun` by several.
    """
    if processes == 1 and not begun and getattr(recipe.training, "shard", False):  # type: ignore[attr-defined]
        raise SettingsError(
            "`training.shard` divides the weights among several processes, but this is the only one; start the training with "
            "torchrun, or remove it"
        )
    if processes > 1 and not splittable(recipe) and _training(recipe).tokens_per_step is None:
        raise SettingsError(
            f"the loss of a batch depends on all of it here, so {processes} processes can share only steps of several batches; "
            f"set `training.tokens_per_step` to {processes} times `training.batch_tokens` or more, or train with one process"
        )


def _training(recipe: Any) -> OptimisationSettings:
    """Return the section `training` of a recipe."""
    training: OptimisationSettings = recipe.training
    return training


def _check_memory(recipe: Any, device: torch.device, processes: int) -> None:
    """Raise SettingsError if the weights, gradients and optimiser state alone exceed the free memory, or the share of them."""
    free = free_memory(device.type)
    try:
        outline = smallest_outline(recipe)
    except (RuntimeError, OverflowError):  # beyond the address space
        if plugged(recipe.model):  # or the fault of a plugin
            raise
        raise SettingsError("this `model` is larger than any memory; choose smaller sizes in `model`") from None
    needed = static_memory(outline, recipe.training).total // (
        processes if getattr(recipe.training, "shard", False) else 1
    )
    if free is not None and needed > free:
        weights = sum(weight.numel() for weight in outline.model.parameters())
        raise SettingsError(
            f"this `model` has at least {weights:.2g} weights, which take {needed / 2**30:,.1f} GiB with their gradients and the "
            f"optimiser's state, but only {free / 2**30:,.1f} GiB of memory are free; choose smaller sizes in `model`"
        )


def smallest_outline(recipe: Any) -> Outline:
    """Return the model of a recipe without its weights, and with the smallest vocabularies that it may have."""
    size = recipe.text.size or SMALLEST
    return outline_of(recipe, Vocabularies(size, size, shared=True))


@runtime_checkable
class EncodedCorpus(Protocol):
    """The interface of an encoded training corpus, such as a `Store`, for `check_corpus`."""

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        """Return the number of tokens of each source, without </s>."""
        ...

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        """Return the number of tokens of each target, without </s>."""
        ...

    def text(self, index: int) -> tuple[str, str]:
        """Return both sides of a pair as text."""
        ...


def check_corpus(store: EncodedCorpus, recipe: Recipe) -> None:
    """Raise an error for training sentences longer than the model's positions, and for a window larger than all of them."""
    _check_lengths(store, model_of(recipe))
    window = model_of(recipe).window
    longest = int(store.source_lengths.max()) + 1
    if window is not None and window.reach >= longest:
        raise SettingsError(
            f"`model.window.reach` is {window.reach}, but the longest training sentence has {longest} tokens (with </s>), so the "
            "window would cover every sentence completely; set a smaller one, or remove `model.window`"
        )


def _check_lengths(store: EncodedCorpus, model: Capabilities) -> None:
    """Raise CorpusError for training sentences longer than the model's positions."""
    bounds = (model.source_positions, model.target_positions)
    for number, (lengths, bound) in enumerate(zip((store.source_lengths, store.target_lengths), bounds, strict=True)):
        longest = int(lengths.argmax())
        tokens = int(lengths[longest]) + 1
        if bound is not None and tokens > bound:
            raise CorpusError(
                f"a training sentence has {tokens} tokens (with </s>), more than the {bound} positions of the model "
                f"(`{store.text(longest)[number][:80]}`); set a larger model.max_positions, or a smaller data.filters.max_words"
            )


def check_tests(recipe: Recipe, codecs: tuple[Codec, Codec]) -> None:
    """Raise CorpusError for what a model with these codecs could not be measured on once it is trained.

    References of a translation may be longer than the model's positions.
    """
    model = model_of(recipe)
    source, target = model.source_positions, None if model.translates else model.target_positions
    for pair in chain.from_iterable(read_pairs(corpus, recipe.data) for corpus in recipe.data.test):
        for codec, text, bound in zip(codecs, (pair.source, pair.target), (source, target), strict=True):
            if bound is None:
                continue
            tokens = len(codec.special.ended(codec.framed(text, pair.between)))
            if tokens > bound:
                raise CorpusError(
                    f"{pair.place} has {tokens} tokens (with </s>), more than the {bound} positions of the model, so that it "
                    "could not be measured on `data.test`; shorten or split it, or set a larger model.max_positions"
                )
