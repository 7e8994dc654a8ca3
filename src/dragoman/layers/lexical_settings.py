"""What settings of models say of a lexical module."""

NEEDS_TIED = (
    "`model.lexical` puts source embeddings through the output layer, which must be made for embeddings; set {remedy}"
)
"""Why a lexical module needs a tied output layer."""


def middle_layer(layers: int) -> int:
    """Return the layer, counted from 1, in the middle of so many: there heads find what a word translates (Garg et al. 2019).

    >>> [middle_layer(layers) for layers in (1, 2, 3, 6)]
    [1, 1, 2, 3]
    """
    return (layers + 1) // 2
