"""Choose the settings that a recipe leaves to `auto`: from the corpus, the budget and the speed of this machine.

docs/quality.md has the trainings that the rule follows, and says what has not been measured yet. What matters most is how often
the budget lets the model see each pair: with few passes, whatever slows learning down costs more than it gives.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from dragoman.data.corpus import read_pairs
from dragoman.data.filters import PairFilter
from dragoman.interfaces import Batch
from dragoman.jobs.memory import fitting_batch, random_sentences
from dragoman.machine.precision import arithmetic, choose_training_precision, dtype_of, width_of
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.runs.recipe import Recipe, settled
from dragoman.settings import parse
from dragoman.text.codec import Codec
from dragoman.text.pieces import TooLargeError
from dragoman.training.objectives import build_objective
from dragoman.training.optimizers import build_optimizer
from dragoman.training.replicas import Replicas, suitable_count
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step

Learn = Callable[[Recipe], tuple[Codec, Codec]]
"""Returns the codecs for a recipe."""

SAMPLE = 2000
"""Number of pairs whose tokens are counted, spread over the corpus."""
LENGTH = 25
"""Tokens per sentence when speed is measured."""
FILLED = 0.85
"""Share of a batch's tokens, as the recipe limits them, that are real ones of the target."""
TIMED = 3
"""Steps that are timed, after one that is not."""
LONGEST_WORD = 12
"""Mean number of characters between spaces above which a language does not put spaces between words."""
GUIDED_TOKENS = 40e6
"""Target tokens in the budget up to which links help attention: it finds them by itself with time."""
PASSES = 30.0
"""Passes over the corpus where the recipe has no budget."""
VALIDATING = 0.9
"""Share of a budget in minutes that is left for steps; the rest goes to validation."""


@dataclass(frozen=True)
class CorpusSize:
    """The size of a training corpus, without the pairs that filters exclude."""

    pairs: int
    characters: int
    """Characters of both sides."""
    sample: tuple[str, ...] = ()
    """Target sentences, spread evenly over the corpus."""
    spaced: bool = True
    """Whether both languages put spaces between words, which word alignments need."""


@dataclass(frozen=True)
class Choice:
    """A setting chosen by `auto`."""

    path: str
    value: Any
    reason: str
    """What it depends on; empty if it is always the same, or follows from another choice."""


@dataclass(frozen=True)
class Settled:
    """A recipe with a value for everything, its codecs, and what `auto` has chosen."""

    recipe: Recipe
    codecs: tuple[Codec, Codec]
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class Workload:
    """How much a budget lets a model learn."""

    pairs: int
    tokens: int
    """Target tokens in one pass over the corpus."""
    seen: float
    """Target tokens that the budget allows, counted each time they are seen."""
    speed: float | None = None
    """Tokens per second of the reference model on this machine, if it was measured."""
    gpu: bool = False
    width: int | None = None
    """Width of the model, if the recipe says so."""
    batch: int | None = None
    """Tokens of a batch, if the recipe says so."""
    layers: int | None = None
    """Layers of the decoder, if the recipe says so."""
    linkable: bool = True
    """Whether words can be linked, and the objective learns from links."""
    epochs: float | None = None
    """Passes to make where the recipe has no other budget."""

    @property
    def passes(self) -> float:
        """Return the number of passes over the corpus."""
        return self.seen / max(self.tokens, 1)


def measure_corpus(recipe: Recipe) -> CorpusSize:
    """Read the training corpora and return their size; each pair counts as often as an epoch has it."""
    pairs = 0
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    sample: list[str] = []
    every = 1
    chosen = PairFilter(recipe.data.filters)
    own = recipe.data.source or "", recipe.data.target or ""
    for corpus in recipe.data.train:
        for pair in chosen.keep(read_pairs(corpus, recipe.data)):
            if pairs % every == 0:
                sample.append(pair.target)
                if len(sample) == 2 * SAMPLE:
                    sample, every = sample[::2], 2 * every
            pairs += corpus.repeat
            for language, text in zip(pair.languages or own, pair[:2], strict=True):
                counts[language][0] += corpus.repeat * len(text)
                counts[language][1] += corpus.repeat * (1 + text.count(" "))
    spaced = all(characters <= LONGEST_WORD * words for characters, words in counts.values())
    return CorpusSize(pairs, sum(characters for characters, _ in counts.values()), tuple(sample), spaced)


def choose_text(recipe: Recipe, size: CorpusSize) -> list[Choice]:
    """Choose the section `text`, which the vocabulary is learned from."""
    wanted = {path for path in recipe.auto if path.startswith("text.")}
    choices = [Choice("text.size", vocabulary_size(size.characters), f"{size.characters:,} characters of text")]
    if recipe.text.kind == "sentencepiece":
        choices.append(Choice("text.sampling", 0.0, ""))
    return [choice for choice in choices if choice.path in wanted]


def vocabulary_size(characters: int) -> int:
    """Return the vocabulary size for a corpus: pieces must be frequent enough to be learned.

    >>> [vocabulary_size(characters) for characters in (400_000, 1_800_000, 9_000_000, 200_000_000)]
    [5000, 6000, 7500, 12000]
    """
    return min(max(500 * round(12 * (characters / 1.8e6) ** 0.15), 500), 32000)


def choose_model(recipe: Recipe, work: Workload) -> list[Choice]:
    """Choose the sections `model` and `training`."""
    kind = "transformer" if "model.kind" in recipe.auto else recipe.model.kind
    choices = [Choice("model.kind", kind, "")]
    choices += transformer(work) if kind in ("transformer", "document") else any_model(work)
    return [choice for choice in choices if choice.path in recipe.auto]


def transformer(work: Workload) -> Iterator[Choice]:
    """Yield the choices for a Transformer."""
    layers, width = size_of(work)
    passes = f"{work.passes:.3g} passes over the corpus in the budget"
    amount = f"{float(f'{work.seen:.3g}'):,.0f} target tokens in the budget"
    yield Choice("model.encoder_layers", layers, amount)
    yield Choice("model.decoder_layers", layers, "")
    yield Choice("model.width", width, amount)
    yield Choice("model.feed_forward", 4 * width, "")
    yield Choice("model.heads", heads_for(width), "")
    yield Choice("model.dropout", dropout_for(work.passes), passes)
    yield Choice("model.feed_forward_dropout", 0.0, "")
    batch = batch_tokens(work)
    yield Choice("training.optimizer", "muon", "it learned more than AdamW in the same time")
    rate = 0.006 * (batch / 1500) ** 0.5 * min(1.0, (256 / width) ** 0.5)
    yield Choice("training.learning_rate", round(rate, 4), f"{width} wide, {batch:,} tokens per step")
    yield _guided(work, work.layers or layers)
    yield from _schedule(work, batch)


def any_model(work: Workload) -> Iterator[Choice]:
    """Yield the choices for training a model of any other kind, whose section `model` is in the recipe."""
    yield Choice("training.optimizer", "adamw", "")
    yield Choice("training.learning_rate", 0.0015, "")
    yield Choice("training.guided", None, "")
    yield from _schedule(work, work.batch or 2500)


def _guided(work: Workload, layers: int) -> Choice:
    """Choose whether a statistical aligner teaches a head where to look."""
    if not work.linkable or work.seen > GUIDED_TOKENS:
        return Choice("training.guided", None, "")
    value = {"layer": (layers + 1) // 2, "head": 1, "weight": 0.3, "shift": False, "links": "learned"}
    return Choice("training.guided", value, "links of a statistical aligner, from which attention learns sooner")


def _schedule(work: Workload, batch: int) -> Iterator[Choice]:
    """Yield the choices that depend on the number of steps."""
    steps = max(work.seen / (FILLED * batch), 1)
    validations = min(max(steps / 400, 4), 25)
    yield Choice("training.batch_tokens", batch, f"{steps:,.0f} steps in the budget")
    yield Choice("training.schedule", "linear", "the rate reaches 0 with the end of the budget")
    yield Choice("training.warmup", int(min(max(steps / 50, 50), 1000, steps / 4)), f"{steps:,.0f} steps in the budget")
    yield Choice("training.validate_every", max(int(steps / validations), 1), f"about {validations:.0f} validations")
    yield Choice("training.weight_decay", 0.01, "")
    yield Choice("training.keep", 1, "")
    yield Choice("training.average", 0, "")
    yield Choice("training.epochs", work.epochs, "" if work.epochs is None else "no other budget is set")


def heads_for(width: int) -> int:
    """Return the number of heads for a width: of 64 dimensions each, or a few more where that is no divisor.

    >>> [heads_for(width) for width in (16, 192, 200)]
    [1, 3, 2]
    """
    return max(heads for heads in range(1, max(width // 64, 1) + 1) if width % heads == 0)


def size_of(work: Workload) -> tuple[int, int]:
    """Return layers on each side, and width."""
    sizes = ((40e6, 3, 192), (200e6, 3, 256), (800e6, 4, 384), (float("inf"), 6, 512))
    layers, width = next((layers, width) for most, layers, width in sizes if work.seen <= most)
    return layers, work.width or width


def dropout_for(passes: float) -> float:
    """Return the dropout for so many passes over the corpus.

    >>> [dropout_for(passes) for passes in (3, 10, 20, 100)]
    [0.0, 0.1, 0.2, 0.3]
    """
    return 0.0 if passes < 4 else 0.1 if passes < 12 else 0.2 if passes < 30 else 0.3


def batch_tokens(work: Workload) -> int:
    """Return the tokens of a batch: small while each step counts, larger where there is time for many, or a GPU."""
    if work.batch is not None:
        return work.batch
    if work.gpu:
        return 8000 if work.seen > 20e6 else 4000
    return 1500 if work.seen < 40e6 else 3000


def settle(recipe: Recipe, learn: Learn, *, device: torch.device, say: Callable[[str], object]) -> Settled:
    """Choose a value for everything that is `auto` in `recipe`, whose codecs `learn` learns; print the choices."""
    say("Measuring the corpus, and this machine if the budget is a time, to choose what is `auto`.")
    size = measure_corpus(recipe)
    choices = choose_text(recipe, size)
    try:
        codecs = learn(settled(recipe, _values(choices)))
    except TooLargeError as error:
        if "text.size" not in recipe.auto:
            raise
        choices = [replace(one, value=error.most) if one.path == "text.size" else one for one in choices]
        codecs = learn(settled(recipe, _values(choices)))
    shared = codecs[0].shares(codecs[1])
    vocabularies = Vocabularies(len(codecs[0]), len(codecs[1]), shared)
    work = workload(recipe, size, codecs[1], device=device, speed=lambda: measure_speed(recipe, vocabularies, device))
    choices += _within_memory(recipe, work, lambda one: fitting_batch(one, vocabularies, device))
    for line in table(choices, work):
        say(line)
    return Settled(settled(recipe, _values(choices)), codecs, tuple(choices))


def _within_memory(recipe: Recipe, work: Workload, most: Callable[[Recipe], int]) -> list[Choice]:
    """Choose the sections `model` and `training`, with a smaller batch if `most` says that no larger one fits into memory."""
    choices = choose_model(recipe, work)
    chosen = settled(recipe, _values(choices))
    if "training.batch_tokens" not in recipe.auto or (batch := most(chosen)) >= chosen.training.batch_tokens:
        return choices
    smaller = choose_model(recipe, replace(work, batch=batch))
    reason = "the largest that fits into the free memory"
    return [replace(one, reason=reason) if one.path == "training.batch_tokens" else one for one in smaller]


def settle_as(recipe: Recipe, begun: Recipe) -> Recipe:
    """Return `recipe` with the values that were chosen when a run was `begun`, in place of what is `auto`."""
    before = begun.model_dump(mode="json")
    paths = set(recipe.auto)
    if "model.kind" in paths:
        paths |= {f"model.{name}" for name in before["model"] if name not in recipe.model.model_fields_set}
    parts = [path.split(".") for path in sorted(paths)]
    return settled(recipe, {f"{part}.{name}": before[part][name] for part, name in parts if name in before[part]})


def table(choices: Sequence[Choice], work: Workload) -> Iterator[str]:
    """Yield the lines of a table of choices that depend on the corpus, the budget or the machine."""
    speed = "" if work.speed is None else f", {work.speed:,.0f} tokens/s on this machine"
    yield f"Chosen by `auto` for {work.pairs:,} pairs, {work.passes:.3g} passes over them in the budget{speed}:"
    for choice in choices:
        if choice.reason:
            yield f"  {choice.path:28} {_short(choice.value):12} {choice.reason}"


def _short(value: Any) -> str:
    """Return a value in a few characters.

    >>> _short({"layer": 2, "head": 1, "weight": 0.3}), _short(8000)
    ('layer 2', '8000')
    """
    if isinstance(value, dict):
        value = "{} {}".format(*next(iter(value.items())))
    return str(value)


def _values(choices: Iterable[Choice]) -> dict[str, Any]:
    """Return the chosen values by path."""
    return {choice.path: choice.value for choice in choices}


def workload(
    recipe: Recipe, size: CorpusSize, codec: Codec, *, device: torch.device, speed: Callable[[], float]
) -> Workload:
    """Return how much the budget of `recipe` lets the model learn; `speed` measures this machine if the budget is a time."""
    training, auto = recipe.training, recipe.auto
    pieces = sum(len(codec.encode(sentence)) + 1 for sentence in size.sample) / max(len(size.sample), 1)
    tokens = round(pieces * size.pairs)
    measured = None if training.minutes is None else speed()
    batch = None if "training.batch_tokens" in auto else training.batch_tokens
    allowed = {
        "minutes": None
        if training.minutes is None or measured is None
        else training.minutes * 60 * VALIDATING * measured,
        "epochs": None if training.epochs is None or "training.epochs" in auto else training.epochs * tokens,
        "tokens": training.tokens,
        "steps": training.steps and training.steps * (training.tokens_per_step or FILLED * (batch or REFERENCE_BATCH)),
        "flops": training.flops and training.flops / REFERENCE_FLOPS,
    }
    seen = min((amount for amount in allowed.values() if amount is not None), default=None)
    return Workload(
        size.pairs,
        tokens,
        PASSES * tokens if seen is None else seen,
        measured,
        gpu=device.type == "cuda",
        width=None if "model.width" in auto else getattr(recipe.model, "width", None),
        batch=batch,
        layers=None if "model.decoder_layers" in auto else getattr(recipe.model, "decoder_layers", None),
        linkable=size.spaced and recipe.training.objective == "translation",
        epochs=PASSES if seen is None else None,
    )


REFERENCE = {
    "kind": "transformer",
    "encoder_layers": 3,
    "decoder_layers": 3,
    "width": 192,
    "feed_forward": 768,
    "heads": 3,
}
"""The model whose speed says how fast a machine is."""
REFERENCE_BATCH = 1500
"""Tokens of its batches."""
REFERENCE_FLOPS = 4e7
"""FLOPs of training it, per target token."""


def measure_speed(recipe: Recipe, vocabularies: Vocabularies, device: torch.device) -> float:
    """Return how many target tokens per second the reference model learns from on this machine, in a few seconds.

    Torch's random state is unchanged.
    """
    precise = recipe.training.precision
    training = parse(TrainingSettings, {"steps": 1, "optimizer": "muon", "precision": precise})
    rows = REFERENCE_BATCH // LENGTH
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        source, target = (random_sentences(rows, size, LENGTH) for size in (vocabularies.source, vocabularies.target))
        batch = Batch(source, target).to(device)
        model = build_model(parse(TransformerSettings, REFERENCE), vocabularies).to(device)
        precision = choose_training_precision(training.precision, device, width_of(model))
        rounding = partial(arithmetic, precision, device)
        threads = torch.get_num_threads()
        wanted = recipe.training.replicas or suitable_count(threads, REFERENCE_BATCH)
        count = wanted if device.type == "cpu" else 1
        replicas = Replicas(model, count, threads=threads, precision=rounding) if count > 1 else None
        step = partial(
            train_step,
            model,
            build_objective(training),
            build_optimizer(model, training, dtype_of(precision)),
            batches=[batch],
            clip=training.clip,
            compute=Compute(rounding(), replicas),
        )
        seconds = []
        for _ in range(1 + TIMED):
            begin = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - begin)
        if replicas is not None:
            replicas.close()
    return rows * (LENGTH - 1) / min(seconds[1:])
