"""Conditions under which settings that read word alignments have an effect, for `jobs/rules.py`."""

from collections.abc import Callable
from typing import Any

from dragoman.jobs.parts import linked, model_of
from dragoman.runs.rules import Rule


def _positions_are_known(recipe: Any, text: Any) -> bool:
    """Tell whether every training corpus has word alignments, if unknown words need them."""
    return text.unknown == "plain" or not model_of(recipe).translates or all(linked(recipe))


def _terms_need_no_links(recipe: Any, _: Any) -> bool:
    """Tell whether a guided head may learn from the alignments of all corpora, which terms need."""
    guided = getattr(recipe.training, "guided", None)
    return guided is None or guided.links == "learned" or all(linked(recipe))


def _head_exists(axis: int, name: str) -> Callable[[Any, Any], bool]:
    """Return a condition: the model has the guided layer (or head)."""

    def works(recipe: Any, guided: Any) -> bool:
        heads = model_of(recipe).source_heads
        return heads is None or getattr(guided, name) <= heads[axis]

    return works


LINKS = (
    Rule(
        "training.guided",
        lambda recipe, _: model_of(recipe).attends,
        "supervises a head over the source, which this `model.kind: {whole.model.kind}` does not have",
    ),
    Rule(
        "training.guided",
        lambda recipe, training: training.guided.links == "learned" or any(linked(recipe)),
        "learns from word alignments, but no training corpus has any",
        remedy="set `links` for a corpus in `data.train`, or `training.guided.links: learned`",
    ),
    Rule(
        "training.guided",
        lambda recipe, training: not training.guided.weight or getattr(recipe.model, "hard", None) is None,
        "learns from soft weights, but those of `model.hard` are 0 or 1, and a 0 has no gradient",
    ),
    Rule(
        "training.guided.lexicon",
        lambda recipe, _: model_of(recipe).lexicon,
        "starts source embeddings that `model.lexical` reads, and that are not those of the target",
        remedy="set `model.lexical: true`, with `model.tied: target` in a Transformer, or `training.guided.lexicon: false`",
    ),
    Rule(
        "training.guided.lexicon",
        lambda _, guided: not guided.shift,
        "gives a word to the step that predicts it, but with `training.guided.shift: true` the head finds it a step later",
        remedy="set `training.guided.shift: false`",
    ),
    Rule(
        "training.guided.shift",
        lambda recipe, guided: not guided.shift or model_of(recipe).source_heads != (1, 1),
        "points a head to the source of the word just read, but this `model` has a single one, from which it translates the next "
        "word",
        remedy="set `training.guided.shift: false`",
        even_default=True,
    ),
    Rule(
        "training.guided.lexicon",
        lambda recipe, _: recipe.model.start_from is None,
        "would replace the embeddings of `model.start_from`",
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
    Rule(
        "text.unknown",
        _positions_are_known,
        "needs word alignments of every training corpus",
        remedy="make them with `dragoman align` and give the file as `links` of the corpus",
    ),
    Rule(
        "text.glossary",
        _terms_need_no_links,
        "learns word alignments for corpora without any, which `training.guided.links: corpus` must not learn from",
        remedy="set `training.guided.links: learned`, or `links` for every corpus in `data.train`",
    ),
)
"""Rules on word alignments, and on what learns from them."""
