"""From attention weights to word alignments: merge tokens into words, and link words."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor


def links_from_weights(weights: Float[Tensor, "target source"]) -> set[tuple[int, int]]:
    """Link each target word to the source word with the largest weight; links are (source, target), counted from 0.

    The leftmost wins a tie. A target word whose weights are all 0 has no link.

    >>> from torch import tensor
    >>> sorted(links_from_weights(tensor([[0.9, 0.1], [0.3, 0.7], [0.0, 0.0]])))
    [(0, 0), (1, 1)]
    """
    if not weights.numel():
        return set()
    most, best = (found.tolist() for found in weights.max(-1))
    return {(source, target) for target, source in enumerate(best) if most[target] > 0}


def merge_pieces(
    weights: Float[Tensor, "*heads target source"],
    source_words: Sequence[int | None],
    target_words: Sequence[int | None],
) -> Float[Tensor, "*heads target_word source_word"]:
    """Turn weights between tokens into weights between words.

    `source_words` and `target_words` give the index of the word of each token; None marks a token that belongs to no word,
    such as EOS, and is dropped. Weights are summed over the tokens of a source word and averaged over those of a target
    word. Weight on a dropped source token is dropped too, not redistributed, so a row sums to 1 only if nothing was dropped.

    >>> from torch import tensor
    >>> merge_pieces(tensor([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]), [0, 0, 1], [0, 0]).tolist()
    [[0.625, 0.375]]
    """
    received = _membership(source_words, weights)
    given = _membership(target_words, weights)
    given = given / given.sum(0).clamp(min=1)
    return given.T @ weights @ received


def _membership(words: Sequence[int | None], like: Tensor) -> Float[Tensor, "piece word"]:
    """Return 1 where the token belongs to the word, otherwise 0."""
    size = max((word for word in words if word is not None), default=-1) + 1
    membership = like.new_zeros(len(words), size)
    for piece, word in enumerate(words):
        if word is not None:
            membership[piece, word] = 1
    return membership
