"""Word alignments of whole texts from trained runs: which weights to take, and two directions made into one."""

from collections.abc import Callable, Iterator, Sequence

from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap, HeadSelection
from dragoman.inference.translator import Translator
from dragoman.metrics.alignment import alignment_error_rate
from dragoman.metrics.symmetrisation import Symmetrisation, symmetrise
from dragoman.text.links import Links

Keep = Callable[[Links, int], Links]
"""Leaves links out of the alignment of the pair of that number, from 0."""


def choose_head(readings: Sequence[AttentionMap], gold: Sequence[Links], keep: Keep | None = None) -> HeadSelection:
    """Return the view whose links have the lowest error rate, the first of equal ones.

    Tried are every head, the mean of each layer's heads and the mean of all, each at the step that wrote a word and the one
    that read it. `keep` may leave out links that should not count, on both sides. Choose on other sentences than those that
    are measured.
    """
    if not readings:
        raise InputError("there are no sentences to choose a layer and head on; give at least one pair")
    layers, heads = readings[0].weights.shape[:2]
    kept = _kept(gold, keep)
    rates: dict[HeadSelection, float] = {}
    for shift in (False, True):
        words = [reading.by_words(shift=shift) for reading in readings]
        for view in _views(layers, heads, shift):
            rates[view] = alignment_error_rate(_kept([view.links_of(weights) for weights in words], keep), kept)
    return min(rates, key=rates.__getitem__)


def check_reverse(forward: Translator, backward: Translator) -> None:
    """Refuse two runs that do not translate between the same languages in opposite directions."""
    (source, target), found = forward.languages, backward.languages
    if found != (target, source):
        raise InputError(
            f"the first run translates from {source} to {target}, so the reverse run must translate from {target} to {source}, "
            f"but it translates from {found[0]} to {found[1]}; give a run of the other direction"
        )


def align_both_ways(
    forward: Sequence[Links], backward: Sequence[Links], how: Symmetrisation = "grow-diag-final-and"
) -> list[Links]:
    """Make one alignment of each pair of two; `backward` are links (target, source) as a run of the other direction has them."""
    return [symmetrise(one, other.flipped(), how) for one, other in zip(forward, backward, strict=True)]


def _views(layers: int, heads: int, shift: bool) -> Iterator[HeadSelection]:
    """Go through the views: means first, which are the steadier ones."""
    yield HeadSelection(shift=shift)
    for layer in range(1, layers + 1):
        yield HeadSelection(layer, shift=shift)
        for head in range(1, heads + 1):
            yield HeadSelection(layer, head, shift)


def _kept(alignments: Sequence[Links], keep: Keep | None) -> list[Links]:
    """Leave out what should not count."""
    return list(alignments) if keep is None else [keep(links, number) for number, links in enumerate(alignments)]
