"""Choose the settings that a recipe leaves to `auto`: from the corpus, the budget and the speed of this machine.

The rule is in `jobs/choices.py`.
"""

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from dragoman.data.corpus import read_pairs
from dragoman.data.filters import PairFilter
from dragoman.errors import number_of
from dragoman.jobs.choices import PASSES, choose_model, unties, vocabulary_size
from dragoman.jobs.memory import fitting_batch, room_for_batches
from dragoman.jobs.rules import drops_between_layers
from dragoman.jobs.speed import BATCH, measure_cost, measure_speed, reference_of
from dragoman.jobs.workload import Choice, Workload, changed, tokens_of_batch
from dragoman.machine.processes import process_count
from dragoman.models.seq2seq import Vocabularies
from dragoman.runs.folder import ORIGINAL, Run
from dragoman.runs.integrity import TOKENS_BEFORE
from dragoman.runs.recipe import Recipe, settled, written_value
from dragoman.runs.warm_start import base_of, text_given
from dragoman.text.codec import Codec
from dragoman.text.glossary import UNSPACED_LETTERS
from dragoman.text.pieces import TooLargeError
from dragoman.text.settings import target_sampling

Learn = Callable[[Recipe], tuple[Codec, Codec]]
"""Returns the codecs for a recipe."""

UNSPACED = re.compile(f"[{UNSPACED_LETTERS}]+")
"""Letters of scripts that are written without spaces."""
SAMPLE = 2000
"""Number of pairs whose tokens are counted, spread over the corpus."""
LONGEST_WORD = 12
"""Mean number of characters between spaces above which a language does not put spaces between words."""
SHORTEST_GAP = 10
"""Letters of scripts that are written without spaces, for each space: more are words that are not kept apart."""
MIXED = 0.1
"""Share of lines beyond which it is no chance that they begin with a capital, or with a small letter."""
START = frozenset({"start_from", "adapters"})
"""Settings of a model that are never those of the run that it starts from."""
DROPOUT = frozenset({"model.dropout", "model.feed_forward_dropout"})
"""Settings that a model has anew when it starts from a run."""
OF_THE_RUN = "that of the run that it starts from"
"""Why a setting is chosen that a run has."""
VALIDATING = 0.9
"""Share of a budget in minutes that is left for steps; the rest goes to validation."""


@dataclass(frozen=True)
class CorpusSize:
    """The size of a training corpus, without the pairs that filters exclude."""

    pairs: int
    characters: int
    """Characters of both sides."""
    sample: tuple[tuple[str, int], ...] = ()
    """Target sentences, spread evenly over the corpora, and how often an epoch has each."""
    spaced: bool = True
    """Whether both languages put spaces between words, which word alignments need."""
    mixed_casing: bool = False
    """Whether a language has both lines that begin with a capital and lines that do not, as truecased text beside usual text."""


@dataclass
class Writing:
    """How the text of a language is written."""

    characters: int = 0
    spaces: int = 0
    lines: int = 0
    capitals: int = 0
    """Lines that begin with one capital."""
    small: int = 0
    """Lines that begin with a small letter."""
    unspaced: int = 0
    """Letters of scripts that are written without spaces."""

    def add(self, text: str, times: int) -> None:
        """Count a line so many times."""
        self.characters += times * len(text)
        self.spaces += times * text.count(" ")
        self.lines += times
        self.capitals += times * (text[:1].isupper() and not text[1:2].isupper())
        self.small += times * text[:1].islower()
        if not text.isascii():
            self.unspaced += times * (len(text) - len(UNSPACED.sub("", text)))

    @property
    def has_words(self) -> bool:
        """Tell whether spaces stand between words; lines of few characters tell little by themselves."""
        apart = 2 * self.unspaced <= self.characters or self.unspaced <= SHORTEST_GAP * self.spaces
        return apart and self.characters <= LONGEST_WORD * (self.lines + self.spaces)

    @property
    def mixes_casing(self) -> bool:
        """Tell whether many lines begin with a capital, and many with a small letter."""
        return min(self.capitals, self.small) > MIXED * (self.capitals + self.small)


@dataclass(frozen=True)
class Settled:
    """A recipe with a value for everything, its codecs, and what `auto` has chosen."""

    recipe: Recipe
    codecs: tuple[Codec, Codec]
    choices: tuple[Choice, ...]


def measure_corpus(recipe: Recipe) -> CorpusSize:
    """Read the training corpora and return their size; each pair counts as often as an epoch has it.

    CorpusError if the filters leave none.
    """
    pairs = 0
    writing: defaultdict[str, Writing] = defaultdict(Writing)
    sample: list[tuple[str, int]] = []
    every, read = 1, 0
    chosen = PairFilter(recipe.data.filters)
    for corpus in recipe.data.train:
        languages = recipe.data.direction(corpus)
        for pair in chosen.keep(read_pairs(corpus, recipe.data)):
            if read % every == 0:
                sample.append((pair.target, corpus.repeat))
                if len(sample) == 2 * SAMPLE:
                    sample, every = sample[::2], 2 * every
            read += 1
            pairs += corpus.repeat
            sides = [*zip(pair.languages or languages, pair[:2], strict=True)]
            for language, text in sides[1:] if corpus.is_noised else sides:
                writing[language].add(text, corpus.repeat)
    chosen.summary.require_pairs()
    sides_read = writing.values()
    return CorpusSize(
        pairs,
        sum(one.characters for one in sides_read),
        tuple(sample),
        spaced=all(one.has_words for one in sides_read),
        mixed_casing=any(one.mixes_casing for one in sides_read),
    )


def choose_text(recipe: Recipe, size: CorpusSize) -> list[Choice]:
    """Choose the section `text`, which the vocabulary is learned from."""
    wanted = {path for path in recipe.auto if path.startswith("text.")}
    choices = [Choice("text.size", vocabulary_size(size.characters), f"{size.characters:,} characters of text")]
    if recipe.text.kind == "sentencepiece":
        choices.append(Choice("text.sampling", 0.0, ""))
        casing = size.mixed_casing and not recipe.text.lower
        why = "some lines begin with capitals, some do not" if casing else ""
        choices.append(Choice("text.inline_casing", casing, why))
    given = text_given(recipe)
    for name in () if given is None else ("size", "inline_casing"):
        if (value := getattr(given, name, None)) is not None:
            choices = changed(choices, f"text.{name}", value=value, reason=OF_THE_RUN)
    return [choice for choice in choices if choice.path in wanted]


def settle(recipe: Recipe, learn: Learn, *, device: torch.device, say: Callable[[str], object]) -> Settled:
    """Choose a value for everything that is `auto` in `recipe`, whose codecs `learn` learns; print the choices."""
    say("Measuring the corpus, and this machine if the budget is a time, to choose what is `auto`.")
    size = measure_corpus(recipe)
    base = base_of(recipe)
    choices = choose_text(recipe, size)
    try:
        codecs = learn(settled(recipe, _values(choices)))
    except TooLargeError as error:
        if "text.size" not in recipe.auto:
            raise
        choices = changed(choices, "text.size", value=error.most, reason="all that the text has")
        codecs = learn(settled(recipe, _values(choices)))
    shared = codecs[0].shares(codecs[1])
    vocabularies = Vocabularies(len(codecs[0]), len(codecs[1]), shared)

    def speed(trained: Recipe) -> float:
        return measure_speed(trained, vocabularies, device, say=say, processes=process_count())

    def cost(trained: Recipe) -> float:
        return measure_cost(trained, vocabularies)

    reference = reference_of(recipe, shared=shared)
    work = workload(
        recipe, size, codecs[1], device=device, speed=lambda: speed(reference), cost=lambda: cost(reference)
    )
    work, chosen = _within_memory(recipe, work, lambda one: fitting_batch(one, vocabularies, device), base=base)
    if work.speed is not None or work.cost is not None:
        first = settled(recipe, _values(chosen))
        if room_for_batches(first, vocabularies, device) > 0:
            work = as_chosen(
                recipe,
                work,
                speed=None if work.speed is None else speed(first),
                cost=None if work.cost is None else cost(first),
            )
            work, chosen = _within_memory(recipe, work, lambda _: first.training.batch_tokens, base=base)
    choices += chosen
    for line in table(choices, work):
        say(line)
    return Settled(settled(recipe, _values(choices)), codecs, tuple(choices))


def _choose(recipe: Recipe, work: Workload, base: Run | None) -> list[Choice]:
    """Choose all but the section `text`. A model that starts from a run has all settings of that run but dropout and those that
    the recipe gives, and the rest is chosen for them.
    """
    if base is None:
        return choose_model(recipe, work)
    own = base.recipe.model.model_dump(mode="json")
    work = replace(work, width=own.get("width"), layers=own.get("decoder_layers"), **_learned(base, work))
    kept = _left(recipe, own.keys() - START)
    dropout = kept & DROPOUT if drops_between_layers(recipe, base.recipe.model) else set()
    values = {path: own[path.removeprefix("model.")] for path in sorted(kept)}
    chosen = choose_model(recipe.with_model(settled(recipe, values).model, auto=sorted(dropout)), work)
    shown = {"model.kind"} if "model.kind" in recipe.auto else kept
    rest = sorted(kept - {one.path for one in chosen})
    return [*(Choice(path, values[path], OF_THE_RUN if path in shown else "") for path in rest), *chosen]


def _left(recipe: Recipe, names: Iterable[str]) -> set[str]:
    """Return the paths of the settings of the model, of those with these names, that the recipe leaves to be chosen."""
    paths = {f"model.{name}" for name in names}
    if "model.kind" in recipe.auto:
        return paths - {f"model.{name}" for name in recipe.model.model_fields_set - {"kind"}}
    return paths & {*recipe.auto, *(["model.tied"] if unties(recipe) else [])}


def _learned(base: Run, work: Workload) -> dict[str, Any]:
    """Return what a run has learned, for the work of a model that starts from it: none is taught links that was not before."""
    return {
        "before": tokens_learned(base),
        "imported": ORIGINAL in base.manifest,
        "linkable": work.linkable and base.recipe.training.guided is not None,
    }


def tokens_learned(run: Run) -> float:
    """Return the target tokens that a run has learned from, with those of the runs before it; infinity where nobody knows."""
    manifest = run.manifest
    if ORIGINAL in manifest:
        return math.inf
    new = "whole" not in manifest.get("start_from", {}) and {"adapted", "merged"}.isdisjoint(manifest)
    known = (manifest.get("cost", {}).get("tokens"), manifest.get(TOKENS_BEFORE, 0 if new else None))
    return sum(math.inf if one is None else one for one in known)


def _within_memory(
    recipe: Recipe, work: Workload, most: Callable[[Recipe], int], *, base: Run | None
) -> tuple[Workload, list[Choice]]:
    """Choose all but the section `text`, with a smaller batch if `most` says that no larger one fits into memory.

    Return it with the work, in which each step of a budget in steps has the batch that was chosen.
    """
    choices = _choose(recipe, work, base)
    chosen = settled(recipe, _values(choices))
    # Larger batches see more, and may grow again.
    while (grown := _in_batches(recipe, work, chosen.training.batch_tokens)) != work:
        work, choices = grown, _choose(recipe, grown, base)
        chosen = settled(recipe, _values(choices))
    if "training.batch_tokens" not in recipe.auto or (batch := most(chosen)) >= chosen.training.batch_tokens:
        return work, choices
    work = _in_batches(recipe, work, batch)
    smaller = _choose(recipe, replace(work, batch=batch), base)
    return work, changed(smaller, "training.batch_tokens", reason="the largest that fits into the free memory")


def _in_batches(recipe: Recipe, work: Workload, batch: int) -> Workload:
    """Return `work` with what a model sees if a batch has at most `batch` tokens."""
    return replace(work, seen=min(_allowed(recipe, work, batch=batch).values(), default=work.seen))


def settle_as(recipe: Recipe, begun: Recipe) -> Recipe:
    """Return `recipe` with the values that were chosen when a run was `begun`, in place of what is `auto`."""
    before = begun.model_dump(mode="json")
    paths = {*recipe.auto, *(_left(recipe, before["model"]) if recipe.auto else ())}
    parts = [path.split(".") for path in sorted(paths)]
    return settled(recipe, {f"{part}.{name}": before[part][name] for part, name in parts if name in before[part]})


def table(choices: Sequence[Choice], work: Workload) -> Iterator[str]:
    """Yield the lines of a table of choices that depend on the corpus, the budget or the machine."""
    where = "on this machine" if process_count() == 1 else f"by {process_count()} processes as fast as this one"
    speed = "" if work.speed is None else f", {work.speed:,.0f} tokens/s {where}"
    pairs = number_of(work.pairs, "pair")
    yield f"Chosen by `auto` for {pairs}, {work}{speed}:"
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
    return written_value(value)


def _values(choices: Iterable[Choice]) -> dict[str, Any]:
    """Return the chosen values by path."""
    return {choice.path: choice.value for choice in choices}


def workload(
    recipe: Recipe,
    size: CorpusSize,
    codec: Codec,
    *,
    device: torch.device,
    speed: Callable[[], float],
    cost: Callable[[], float],
) -> Workload:
    """Return how much the budget of `recipe` lets the reference model learn.

    Its `speed` is asked for if the budget has minutes, its `cost` in FLOPs per target token if it has FLOPs.
    """
    training, auto = recipe.training, recipe.auto
    sized = getattr(recipe.model, "head_size", None) is not None  # so that heads need not divide the width
    heads = 1 if "model.heads" in auto or sized else getattr(recipe.model, "heads", 1)
    rate, rng = 0.0 if recipe.text.sampling_epochs else target_sampling(recipe.text), random.Random(recipe.seed)
    counted = sum(times * (len(codec.sample(sentence, rng, rate)) + 1) for sentence, times in size.sample)
    pieces = counted / max(sum(times for _, times in size.sample), 1)
    tokens = round(pieces * size.pairs)
    work = Workload(
        size.pairs,
        tokens,
        PASSES * tokens,
        speed=None if training.minutes is None else speed(),
        cost=None if training.flops is None else cost(),
        gpu=device.type == "cuda",
        width=None if "model.width" in auto else getattr(recipe.model, "width", None),
        heads=heads,
        batch=_batch(recipe),
        step=training.tokens_per_step,
        layers=None if "model.decoder_layers" in auto else getattr(recipe.model, "decoder_layers", None),
        linkable=size.spaced and training.objective == "translation",
        by_character=recipe.text.kind == "characters",
    )
    allowed = _allowed(recipe, work, batch=_batch(recipe) or BATCH)
    if not allowed:
        return replace(work, epochs=PASSES)
    seen = min(allowed.values())
    return replace(work, seen=seen, timed=seen == allowed.get("minutes"))


def as_chosen(recipe: Recipe, work: Workload, *, speed: float | None, cost: float | None) -> Workload:
    """Return `work`, which is that of the reference model, with what a model sees that learns from `speed` tokens per second, and
    costs so many FLOPs per target token.
    """
    work = replace(work, seen_by_reference=work.seen, speed=speed, cost=cost)
    return replace(work, seen=min(_allowed(recipe, work, batch=_batch(recipe) or BATCH).values()))


def _allowed(recipe: Recipe, work: Workload, *, batch: int) -> dict[str, float]:
    """Return the target tokens that each budget of `recipe` allows, where a batch has at most `batch`."""
    training = recipe.training
    per_step = training.tokens_per_step or tokens_of_batch(batch, work.tokens)
    allowed = {
        "minutes": training.minutes and work.speed and training.minutes * 60 * VALIDATING * work.speed,
        "epochs": None if "training.epochs" in recipe.auto else training.epochs and training.epochs * work.tokens,
        "tokens": training.tokens,
        "steps": training.steps and training.steps * per_step,
        "flops": training.flops and work.cost and training.flops / work.cost,
    }
    return {name: amount for name, amount in allowed.items() if amount is not None}


def _batch(recipe: Recipe) -> int | None:
    """Return the tokens of a batch, if the recipe says so."""
    return None if "training.batch_tokens" in recipe.auto else recipe.training.batch_tokens
