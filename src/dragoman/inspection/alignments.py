"""From attention weights to word alignments: pieces put together into words, and words linked."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor


def links_from_weights(weights: Float[Tensor, "target source"]) -> set[tuple[int, int]]:
    """Link each target word to the source word that it looks at most; links are (source, target), counted from 0.

    Of equal weights the leftmost wins. A target word that looks at no source word at all has no link.

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
    """Turn weights between pieces into weights between words.

    `source_words` and `target_words` give for each token the number of its word, from 0; None marks a piece that
    belongs to no word, such as EOS, and is dropped. A word receives the sum of what its source pieces receive, and
    gives the mean of what its target pieces give. Weight on a dropped source piece is dropped too, not spread over the
    others: a row sums to what its pieces gave to words, which is 1 only where nothing was dropped.

    >>> from torch import tensor
    >>> merge_pieces(tensor([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]), [0, 0, 1], [0, 0]).tolist()
    [[0.625, 0.375]]
    """
    received = _membership(source_words, weights)
    given = _membership(target_words, weights)
    given = given / given.sum(0).clamp(min=1)
    return given.T @ weights @ received


def _membership(words: Sequence[int | None], like: Tensor) -> Float[Tensor, "piece word"]:
    """Return 1 where the piece belongs to the word, else 0."""
    size = max((word for word in words if word is not None), default=-1) + 1
    membership = like.new_zeros(len(words), size)
    for piece, word in enumerate(words):
        if word is not None:
            membership[piece, word] = 1
    return membership
