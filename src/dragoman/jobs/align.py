"""Word alignments of whole texts from trained runs: choose the weights, and combine two directions."""

from collections.abc import Iterator, Sequence

from dragoman.data.directions import Directions
from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap, HeadSelection
from dragoman.inference.translator import Translator
from dragoman.metrics.alignment import alignment_error_rate
from dragoman.metrics.symmetrisation import Symmetrisation, symmetrise
from dragoman.text.frames import Between
from dragoman.text.links import Links

AT_ONCE = 1000
"""Number of pairs whose weights are kept at one time: those of a whole corpus would not fit into memory."""


def align_pairs(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    view: HeadSelection,
    to: Between | None = None,
) -> list[Links]:
    """Return the links of each pair by the weights of `view`, some pairs at a time.

    A document model reads the lines before each source. InputError, before anything is computed, names a sentence that is
    longer than the model's positions.
    """
    translator.requests(sources, targets, to=to)
    previous, found = translator.preceding(sources), list[Links]()
    for first in range(0, len(sources), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        maps = translator.attention_maps(sources[part], targets[part], previous=previous[part], to=to)
        found += [view.links(one) for one in maps]
    return found


def choose_head(readings: Sequence[AttentionMap], gold: Sequence[Links]) -> HeadSelection:
    """Return the selection whose links have the lowest error rate, the first of a tie.

    Candidates are every head, the mean of each layer's heads and the mean of all, each at the step that generated a word and
    at the one with it as input. Choose on sentences other than those used for evaluation.
    """
    if not readings:
        raise InputError("there are no sentences to choose a layer and head on; give at least one pair")
    layers, heads = readings[0].weights.shape[:2]
    rates: dict[HeadSelection, float] = {}
    for shift in (False, True):
        words = [reading.by_words(shift=shift) for reading in readings]
        for view in _views(layers, heads, shift):
            rates[view] = alignment_error_rate([view.links_of(weights) for weights in words], gold)
    return min(rates, key=rates.__getitem__)


def check_reverse(backward: Directions, direction: tuple[str | None, str | None]) -> None:
    """Raise InputError for a run that does not translate in the opposite of a direction."""
    source, target = direction
    if source is None:
        raise InputError("the opposite direction needs the language of the source; give it with --from")
    try:
        backward.choose(target, source)
    except InputError:
        raise InputError(
            f"the first run translates from {source} to {target}, so the reverse run must translate from {target} to {source}, "
            f"but it translates {backward}; give a run of the other direction"
        ) from None


def align_both_ways(
    forward: Sequence[Links], backward: Sequence[Links], how: Symmetrisation = "grow-diag-final-and"
) -> list[Links]:
    """Combine two alignments of each pair; `backward` are links (target, source) from a run for the opposite direction."""
    return [symmetrise(one, other.flipped(), how) for one, other in zip(forward, backward, strict=True)]


def _views(layers: int, heads: int, shift: bool) -> Iterator[HeadSelection]:
    """Yield the candidates, means first, which are more robust."""
    yield HeadSelection(shift=shift)
    for layer in range(1, layers + 1):
        yield HeadSelection(layer, shift=shift)
        for head in range(1, heads + 1):
            yield HeadSelection(layer, head, shift)
