"""The rule of `auto`: which model, and how it is trained, for an amount of text and of work; nothing is read or measured here.

docs/quality.md has the trainings that the rule follows, and says what has not been measured yet. What matters most is how often
the budget lets the model see each pair: with few passes, whatever slows learning down costs more than it gives.
"""

import math
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dragoman.errors import number_of
from dragoman.jobs.rules import RULES
from dragoman.jobs.suiting import suited
from dragoman.jobs.workload import Choice, Workload
from dragoman.layers.lexical_settings import middle_layer
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.recipe import Recipe, settled
from dragoman.runs.rules import refusals

RECURRENT_TOKENS = 1e6
"""If a Transformer sees at most so many target tokens in the time, a recurrent model is taken instead.

On 63,840 pairs the recurrent one has 20.8 BLEU, and a Transformer 20.4, when that has seen 0.92 million, in five minutes of a
core: they are level. They have 24.5 and 25.8 in ten minutes, at 1.74 million; on 8,000 pairs 14.2 and 15.4 in ten minutes.
"""
LEAST_TEXT = 100_000
"""Target tokens in a pass up to which a recurrent model is as good however long the time is: at 54,000 6.2 BLEU and 6.0."""
ENOUGH_PASSES = 60
"""Passes over the corpus after which a recurrent model is done, even if there is time for more."""
SHORT_TRAINING = 20e6
"""Target tokens up to which translations are too short, and those of a recurrent model repeat themselves.

Measured at 2, 7 and 18 million with a recurrent model, at 2, 10 and 17 million with a Transformer; not beyond.
"""
REPEATING = 6e6
"""Target tokens up to which those of a Transformer repeat themselves.

The limit on repetition gains 1 to 3 BLEU at 1.7 million, nothing at 5.6 million, and costs 0.2 to 0.4 at 10.7 million.
"""
DROPOUT_PASSES = (4, 12, 30)
"""Passes over the corpus from which dropout is 0.1, 0.2 and 0.3."""
RECURRENT_PASSES = (5, 9, 15)
"""Those of a recurrent model: measured at 4, 10, 12.5 and 25."""
GUIDED_TOKENS = 40e6
"""Target tokens in the budget up to which links help attention: it finds them by itself with time."""
LITTLE_TEXT = 500_000
"""Target tokens in a pass up to which a recurrent model learns more with scaled scores and a guide of weight 1.0.

So it does at 240,000. At 1.9 million `general` is behind at first and ahead from 3 million on, and a weight of 1.0 is no better.
"""
PASSES = 30.0
"""Passes over the corpus where the recipe has no budget."""
EMBEDDING_RATE = 3.0
"""Learning rate of a Transformer's embeddings, as a multiple of that of its layers, which Muon updates."""
LARGEST_RATE = 0.014
"""Largest learning rate of a Transformer, whatever the tokens of a step; larger ones have not been tried."""
FASTER = "it learned more than AdamW in the same time"
"""Why Muon is chosen."""


def vocabulary_size(characters: int) -> int:
    """Return the vocabulary size for a corpus: pieces must be frequent enough to be learned.

    >>> [vocabulary_size(characters) for characters in (400_000, 1_800_000, 9_000_000, 200_000_000)]
    [5000, 6000, 7500, 12000]
    """
    return min(max(500 * round(12 * (characters / 1.8e6) ** 0.15), 500), 32000)


def choose_model(recipe: Recipe, work: Workload) -> list[Choice]:
    """Choose the sections `model`, `training` and `decoding`."""
    kind = recipe.model.kind
    if getattr(recipe.model, "hard", None) is not None:
        work = replace(work, linkable=False)
    if "model.kind" in recipe.auto:
        if short := _recurrent_for(recipe, work):
            return short
        choices = [Choice("model.kind", kind, ""), *_transformer(recipe, work, lexicon=False)]
    elif kind in ("transformer", "document"):
        choices = _transformer(recipe, work, lexicon=_takes_lexicon(recipe))
    elif kind == "rnn":
        work = replace(_useful(recipe, work), linkable=work.linkable and capabilities_of(recipe.model).attends)
        choices = [*training_of_recurrent(work, lexicon=_takes_lexicon(recipe))]
    else:
        choices = [*any_model(work)]
    return [one for one in suited(recipe, work, choices) if one.path in recipe.auto or one.path == "model.tied"]


def unties(recipe: Recipe) -> bool:
    """Tell whether `model.tied` is chosen although it is never `auto`: the recipe does not give it, and its default cannot be."""
    transformer = recipe.model.kind in ("transformer", "document")
    return transformer and not recipe.text.joint and "tied" not in recipe.model.model_fields_set


def _transformer(recipe: Recipe, work: Workload, *, lexicon: bool) -> list[Choice]:
    """Return the choices for a Transformer, of which some follow from others."""
    choices = [*transformer(work, lexicon=lexicon)]
    if unties(recipe):
        choices.append(Choice("model.tied", "target", "each language has a vocabulary of its own"))
    choices += _attention(recipe, choices)
    chosen = {choice.path: choice.value for choice in choices}
    return [*choices, *_rates(work, chosen), *_search_of_transformer(work, chosen)]


def _rates(work: Workload, chosen: Mapping[str, Any]) -> Iterator[Choice]:
    """Yield how fast a Transformer learns: with rotary positions faster than with others, with which that was worse."""
    rotary, width = chosen["model.relative"] == "rotary", chosen["model.width"]
    step = work.step or chosen["training.batch_tokens"]
    rate = min((0.009 if rotary else 0.006) * (step / 1500) ** 0.5, LARGEST_RATE) * min(1.0, (256 / width) ** 0.5)
    yield Choice("training.learning_rate", round(rate, 4), f"{width} wide, {step:,} tokens per step")
    yield Choice("training.embedding_rate", EMBEDDING_RATE if rotary else 2.0, "embeddings learn sooner")


def _attention(recipe: Recipe, choices: Sequence[Choice]) -> Iterator[Choice]:
    """Yield how a Transformer tells positions and scores: by rotation and cosines, unless the recipe has other positions already,
    or heads of an odd size.
    """
    chosen = {choice.path: choice.value for choice in choices}
    given = {name: value for name, value in recipe.model if f"model.{name}" not in recipe.auto}
    width, heads = (given.get(name) or chosen[f"model.{name}"] for name in ("width", "heads"))
    odd = (given["head_size"] or width // heads) % 2
    relative, why = given.get("relative", "none"), ""
    if "relative" not in given and given.get("positions", "none") == "none" and not odd:
        relative, why = "rotary", "it learned twice as fast as from positions added to embeddings"
    yield Choice("model.relative", relative, why)
    yield Choice("model.positions", "sinusoidal" if relative == "none" else "none", "")
    rotary = relative == "rotary"
    yield Choice("model.zero_start", rotary, "layers begin as if they were not there" if rotary else "")
    cosine = rotary and not recipe.training.shard  # which divides no single numbers
    score = "cosine" if cosine else "scaled_dot"
    yield Choice("model.self_score", score, "each layer learns how sharply to attend" if cosine else "")
    across = given.get("cross_score", score)
    yield Choice("model.cross_score", across, "the same; CTranslate2 exports need scaled_dot" if cosine else "")


def _search_of_transformer(work: Workload, chosen: Mapping[str, Any]) -> Iterator[Choice]:
    """Yield how a Transformer's translations are searched for; CTranslate2, which cannot keep a beam from repeating, does not
    read those with cosines.
    """
    repeats = work.learned <= REPEATING and chosen["model.cross_score"] == "cosine"
    yield from _search(work, repeats=repeats)


def _takes_lexicon(recipe: Recipe) -> bool:
    """Tell whether the model that a recipe describes has source embeddings that may start from a lexicon."""
    return capabilities_of(recipe.model).lexicon and recipe.model.start_from is None


def _recurrent_for(recipe: Recipe, work: Workload) -> list[Choice]:
    """Return the choices for a recurrent model, if it learns more and the recipe has nothing that is for others; else none."""
    if recipe.model.model_fields_set - {"kind"} or not recurrent_learns_more(work):
        return []
    choices = [
        one
        for one in suited(recipe, work, [*recurrent(_useful(recipe, work))])
        if one.path.startswith("model.") or one.path in recipe.auto
    ]
    return [] if refusals(RULES, settled(recipe, {one.path: one.value for one in choices})) else choices


def recurrent_learns_more(work: Workload) -> bool:
    """Tell whether a recurrent model with guided attention is better at the end: the time is short, or the text is little for it.

    Where no budget is a time, a Transformer is chosen.
    """
    short = work.timed and work.amount <= RECURRENT_TOKENS
    little = (work.timed or work.speed is not None) and work.tokens <= LEAST_TEXT
    return (short or little) and work.linkable and not work.gpu


def _useful(recipe: Recipe, work: Workload) -> Workload:
    """Return the work of a recurrent model without the passes for which there is time, but no use."""
    if not work.timed or work.passes <= ENOUGH_PASSES or "training.epochs" not in recipe.auto:
        return work
    return replace(work, seen=ENOUGH_PASSES * work.tokens, epochs=ENOUGH_PASSES)


def recurrent(work: Workload) -> Iterator[Choice]:
    """Yield the choices for a recurrent model: Luong's, whose decoder is one fast loop, with a small tied output layer."""
    model = {
        "decoder": "luong",
        "cell": "lstm",
        "score": "scaled_general" if work.tokens <= LITTLE_TEXT else "general",
        "embedding": 192,
        "hidden": 256,
        "tied": True,
    }
    little = "from so little text" if work.tokens <= LEAST_TEXT else "in so short a time"
    yield Choice("model.kind", "rnn", f"{little} it learns more than a Transformer")
    yield from (Choice(f"model.{name}", value, "") for name, value in model.items())
    yield Choice("model.lexical", True, "attended source words speak for their translation directly")
    yield from training_of_recurrent(work, lexicon=True)


def training_of_recurrent(work: Workload, *, lexicon: bool) -> Iterator[Choice]:
    """Yield the choices for training a recurrent model, whose sizes are chosen or in the recipe."""
    batch = batch_tokens(work)
    yield _dropout(work, RECURRENT_PASSES)
    yield Choice("training.optimizer", "muon", FASTER)
    step = work.step or batch
    yield Choice("training.learning_rate", round(0.004 * (step / 1500) ** 0.5, 4), f"{step:,} tokens per step")
    yield Choice("training.embedding_rate", 1.0, "")
    yield _guided(work, 1, weight=1.0 if work.tokens <= LITTLE_TEXT else 0.3, lexicon=lexicon)
    yield from _schedule(work, batch)
    yield from _search(work, repeats=True)


def transformer(work: Workload, *, lexicon: bool = False) -> Iterator[Choice]:
    """Yield the choices for a Transformer."""
    layers, width = size_of(work)
    tokens = f"{float(f'{work.amount:.3g}'):,.0f} target tokens"
    amount = f"{tokens}{work.bound}"
    if work.seen_by_reference is not None:
        amount = f"3+3 layers of 192 learn from {tokens}{work.bound}"
    yield Choice("model.encoder_layers", layers, amount)
    yield Choice("model.decoder_layers", layers, "")
    yield Choice("model.width", width, amount)
    yield Choice("model.feed_forward", 4 * width, "")
    yield Choice("model.heads", heads_for(width), "")
    yield _dropout(work)
    yield Choice("model.feed_forward_dropout", 0.0, "")
    batch = batch_tokens(work)
    yield Choice("training.optimizer", "muon", FASTER)
    yield _guided(work, work.layers or layers, weight=0.3, lexicon=lexicon)
    yield from _schedule(work, batch)


def any_model(work: Workload) -> Iterator[Choice]:
    """Yield the choices for training a model of any other kind, whose sizes are in the recipe."""
    yield _dropout(work)
    yield Choice("training.optimizer", "adamw", "")
    yield Choice("training.learning_rate", 0.0015, "")
    yield Choice("training.embedding_rate", 1.0, "")
    yield Choice("training.guided", None, "")
    yield from _schedule(work, work.batch or 2500)
    yield from _search()


def _dropout(work: Workload, limits: Sequence[float] = DROPOUT_PASSES) -> Choice:
    """Choose the dropout, with the `limits` of `dropout_for`."""
    return Choice("model.dropout", dropout_for(work.passes, limits), str(work))


def _guided(work: Workload, layers: int, *, weight: float, lexicon: bool) -> Choice:
    """Choose whether a statistical aligner teaches a head where to look."""
    if not work.linkable or work.amount > GUIDED_TOKENS:
        return Choice("training.guided", None, "")
    value = {
        "layer": middle_layer(layers),
        "head": 1,
        "weight": weight,
        "shift": False,
        "links": "learned",
        "lexicon": lexicon,
    }
    return Choice("training.guided", value, "links of a statistical aligner, from which attention learns sooner")


def _schedule(work: Workload, batch: int) -> Iterator[Choice]:
    """Yield the choices that depend on the number of steps."""
    steps = work.steps(batch)
    validations = min(max(steps / 400, 4), 25, steps)
    budget = f"{number_of(round(steps), 'step')}{work.bound}"
    yield Choice("training.batch_tokens", batch, budget)
    yield Choice("training.schedule", "linear", "the rate reaches 0 at the end")
    yield Choice("training.warmup", int(min(max(steps / 50, 50), 1000, steps / 4)), budget)
    yield Choice(
        "training.validate_every",
        max(int(steps / validations), 1),
        f"about {number_of(round(validations), 'validation')}",
    )
    yield Choice("training.weight_decay", 0.01, "")
    yield Choice("training.keep", 1, "")
    yield Choice("training.average", 0, "")
    why = "more passes over so little text teach it nothing" if work.timed else "no other budget is set"
    yield Choice("training.epochs", work.epochs, "" if work.epochs is None else why)


def _search(work: Workload | None = None, *, repeats: bool = False) -> Iterator[Choice]:
    """Yield the choices for search after so much work, if that is known to matter, of a model that then `repeats` words.

    A length penalty of 1.4 gains up to 0.3 BLEU from English to Vietnamese, but costs 2 from Vietnamese to English: translations
    begin again where they should end. Not measured where tokens are characters.
    """
    short = work is not None and work.learned <= SHORT_TRAINING and not work.by_character
    size, why = (4, "after so short a training it repeats itself") if short and repeats else (0, "")
    yield Choice("decoding.no_repeat_ngram", size, why)
    why = "after so short a training, translations are too short otherwise" if short else ""
    yield Choice("decoding.length_penalty", 1.2 if short else 1.0, why)


def heads_for(width: int) -> int:
    """Return the number of heads for a width: of 64 dimensions each, or a few more where that is no divisor or an odd number.

    >>> [heads_for(width) for width in (16, 192, 200, 250)]
    [1, 3, 2, 1]
    """
    most = range(1, max(width // 64, 1) + 1)
    return max((heads for heads in most if width % (2 * heads) == 0), default=1)


def size_of(work: Workload) -> tuple[int, int]:
    """Return layers on each side, and width, of which each of the heads that the recipe gives has the same even share."""
    sizes = ((40e6, 3, 192), (200e6, 3, 256), (800e6, 4, 384), (float("inf"), 6, 512))
    layers, width = next((layers, width) for most, layers, width in sizes if work.amount <= most)
    return layers, work.width or 2 * work.heads * math.ceil(width / (2 * work.heads))


def dropout_for(passes: float, limits: Sequence[float] = DROPOUT_PASSES) -> float:
    """Return the dropout for so many passes over the corpus, more beyond each of the limits.

    >>> [dropout_for(passes) for passes in (3, 10, 20, 100)], dropout_for(10, RECURRENT_PASSES)
    ([0.0, 0.1, 0.2, 0.3], 0.2)
    """
    return (0.0, 0.1, 0.2, 0.3)[bisect(limits, passes)]


def batch_tokens(work: Workload) -> int:
    """Return the tokens of a batch: small while each step counts, larger where there is time for many, or a GPU."""
    if work.batch is not None:
        return work.batch
    if work.gpu:
        return 8000 if work.amount > 20e6 else 4000
    return 1500 if work.amount < 40e6 else 3000
