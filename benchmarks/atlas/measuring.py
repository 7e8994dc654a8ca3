"""What the atlas measures of a trained model: BLEU, alignment error rate, entropy of the weights, and three pictures."""

from collections.abc import Sequence
from typing import Any

import torch
from benchmarks.atlas.agreed import SHOWN
from benchmarks.atlas.corpora import Aligned

from dragoman.inference.attention_map import AttentionMap, HeadSelection, with_words
from dragoman.inference.translator import Translator
from dragoman.metrics.alignment import alignment_error_rate, words_only
from dragoman.metrics.scores import bleu
from dragoman.text.links import Links


def measure(translator: Translator, choose: Sequence[Aligned], pairs: Sequence[Aligned]) -> dict[str, Any]:
    """Measure on `pairs`; layer and head are chosen on `choose`.

    BLEU is of translations as the recipe searches for them; alignments and weights are those of the model as it writes the
    reference. Tokens without letter or digit do not count in alignments. A model without attention has BLEU alone.
    """
    hypotheses = [one.text for one in translator.translate([pair.source for pair in pairs])]
    score = bleu(hypotheses, [[pair.target for pair in pairs]])
    found: dict[str, Any] = {"bleu": score.score, "signature": score.signature}
    if not translator.attends:
        return found
    chosen_on, readings = (read_pairs(translator, part) for part in (choose, pairs))
    for name, shift in (("aer", False), ("aer_shifted", True)):
        view = best_view(chosen_on, choose, shift=shift)
        found[name] = error_rate(readings, pairs, view)
        found[f"{name}_view"] = [view.layer, view.head]
    return {**found, "entropy": sum(map(entropy, readings)) / len(readings)}


def show(translator: Translator, view: Sequence[int]) -> list[dict[str, Any]]:
    """Return words and weights of the sentences shown, in the layer and head of `view`."""
    layer, head = (number - 1 for number in view)
    pictures = []
    for reading in translator.attention_maps([source for source, _ in SHOWN], [target for _, target in SHOWN]):
        weights = reading.by_words()[layer, head].clamp(0, 1)
        rounded = [[round(weight, 3) for weight in row] for row in weights.tolist()]
        pictures.append({"source": reading.source.words, "target": reading.target.words, "weights": rounded})
    return pictures


def entropy(reading: AttentionMap) -> float:
    """Return the mean entropy of the weights in nats, over target pieces, layers and heads, with </s> on both sides.

    >>> from dragoman.inference.attention_map import Side
    >>> side = Side(["a", "</s>"], ["a"], [0, None])
    >>> round(entropy(AttentionMap(side, side, torch.full((1, 1, 2, 2), 0.5))), 4)
    0.6931
    """
    return float(torch.special.entr(reading.weights).sum(-1).mean())


def error_rate(readings: Sequence[AttentionMap], pairs: Sequence[Aligned], view: HeadSelection) -> float:
    """Return the alignment error rate over words with a letter or digit."""
    found = [kept(view.links(reading), pair) for reading, pair in zip(readings, pairs, strict=True)]
    gold = [kept(Links(frozenset((i, j) for i, j in pair.links)), pair) for pair in pairs]
    return alignment_error_rate(found, gold)


def best_view(readings: Sequence[AttentionMap], pairs: Sequence[Aligned], *, shift: bool) -> HeadSelection:
    """Return the layer and head with the lowest error rate, the first of equal ones."""
    layers, heads = readings[0].weights.shape[:2]
    views = [HeadSelection(layer, head, shift) for layer in range(1, layers + 1) for head in range(1, heads + 1)]
    return views[0] if len(views) == 1 else min(views, key=lambda view: error_rate(readings, pairs, view))


def kept(links: Links, pair: Aligned) -> Links:
    """Leave out links of marks."""
    return words_only(links, pair.source_words, pair.target_words)


def read_pairs(translator: Translator, pairs: Sequence[Aligned]) -> list[AttentionMap]:
    """Read pairs, with words cut as the gold links count them."""
    readings = translator.attention_maps([pair.source for pair in pairs], [pair.target for pair in pairs])
    return [
        AttentionMap(
            with_words(translator.source, pair.source, pair.source_words),
            with_words(translator.target, pair.target, pair.target_words),
            reading.weights,
        )
        for reading, pair in zip(readings, pairs, strict=True)
    ]
