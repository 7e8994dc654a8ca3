"""Measure a trained system: translations of the test corpus, their scores, attention on one sentence."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.atomic import write_text
from dragoman.data.corpus import Pair, read_pairs
from dragoman.inference.translator import Translator
from dragoman.metrics.scores import bleu, chrf
from dragoman.metrics.significance import interval
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse


def measure(runs: Sequence[Path], table: Mapping[str, Any], folder: Path, *, sentence: str | None) -> dict[str, Any]:
    """Translate the test corpora with one run or an ensemble; write hypotheses.txt, and return the scores.

    All test corpora count as one. Attention, if any, is recorded for `sentence`, or for the first test sentence.
    """
    recipe = parse(Recipe, table)
    translator = Translator.load(*runs, settings=recipe.decoding)
    pairs = tested_pairs(recipe)
    sources, references = [pair.source for pair in pairs], [[pair.target for pair in pairs]]
    previous = translator.preceding(sources, [pair.document for pair in pairs])
    begin = time.monotonic()
    found = translator.translate(sources, previous=previous, to=[pair.between for pair in pairs])
    hypotheses = [" ".join(one.text.split()) for one in found]
    seconds = time.monotonic() - begin
    write_text(folder / "hypotheses.txt", "".join(f"{hypothesis}\n" for hypothesis in hypotheses))
    score, characters = bleu(hypotheses, references), chrf(hypotheses, references)
    between = interval(hypotheses, references)
    return {
        "bleu": score.score,
        "bleu_low": between.low,
        "bleu_high": between.high,
        "chrf": characters.score,
        "signatures": {"BLEU": score.signature, "chrF": characters.signature},
        "sentences": len(pairs),
        "measuring_seconds": round(seconds, 1),
        "attention": _attention(translator, sentence or sources[0], pairs[0].to) if len(runs) == 1 else None,
    }


def tested_pairs(recipe: Recipe) -> list[Pair]:
    """Return all test pairs, corpus by corpus."""
    return [pair for corpus in recipe.data.test for pair in read_pairs(corpus, recipe.data)]


def _attention(translator: Translator, sentence: str, to: str | None) -> dict[str, Any] | None:
    """Return the words of a sentence and of its translation, and the weights of each layer and head.

    None without attention; empty if the translation is empty.
    """
    if not translator.attends:
        return None
    found = translator.translate([sentence], attention=True, to=to)[0]
    if found.reading is None or not found.text.strip():
        return {}
    picture = found.reading.picture()
    weights = [[[[round(w, 3) for w in row] for row in head] for head in layer] for layer in picture.weights]
    return {"source": list(picture.source_words), "target": list(picture.target_words), "weights": weights}
