"""The data of an attention picture: two sentences, and the weights of each layer and head between their words."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from dragoman.errors import InputError

Matrix = Sequence[Sequence[float]]
"""One head's weights: a row for each target word, a column for each source word."""

ROUNDING = 1e-3
"""Tolerance for weights above 1, which rounding in half precision can cause."""


@dataclass(frozen=True)
class AttentionPicture:
    """What each target word attended to in the source sentence.

    `weights` are numbers between 0 and 1, as `tensor.tolist()` gives them, indexed by layer, head, target word and
    source word. Raises InputError if they do not fit the words or are not such numbers.
    """

    source_words: Sequence[str]
    target_words: Sequence[str]
    weights: Sequence[Sequence[Matrix]]
    title: str = ""
    axes: tuple[str, str] = ("source", "target")
    """What the columns are and what the rows are, for a reader."""

    def __post_init__(self) -> None:
        """Raise InputError if this cannot be drawn."""
        if not self.source_words or not self.target_words or not self.weights or not self.weights[0]:
            raise InputError(
                "there is no attention to draw; give at least one word on each side, one layer and one head"
            )
        for layer, heads in enumerate(self.weights, start=1):
            if len(heads) != self.heads:
                raise InputError(
                    f"layer {layer} has {len(heads)} heads but layer 1 has {self.heads}; give each layer the same number"
                )
            for head, matrix in enumerate(heads, start=1):
                self._check(matrix, f"layer {layer}, head {head}")

    @property
    def layers(self) -> int:
        """Return the number of layers."""
        return len(self.weights)

    @property
    def heads(self) -> int:
        """Return the number of heads per layer."""
        return len(self.weights[0])

    @property
    def mean(self) -> list[list[float]]:
        """Return the average over all heads of all layers.

        >>> AttentionPicture(["cat"], ["mèo"], [[[[1.0]], [[0.5]]]]).mean
        [[0.75]]
        """
        matrices = list(chain.from_iterable(self.weights))
        return [
            [sum(weights) / len(matrices) for weights in zip(*rows, strict=True)]
            for rows in zip(*matrices, strict=True)
        ]

    def _check(self, matrix: Matrix, place: str) -> None:
        """Check one head's weights against the words."""
        rows, columns = len(self.target_words), len(self.source_words)
        widths = {len(row) for row in matrix}
        if len(matrix) != rows or widths != {columns}:
            found = f"{len(matrix)} x {' or '.join(str(width) for width in sorted(widths)) or '0'}"
            raise InputError(
                f"the weights of {place} are {found}, but there are {rows} target words and {columns} source words;"
                " give one row per target word and one column per source word"
            )
        for weight in chain.from_iterable(matrix):
            if not 0 <= weight <= 1 + ROUNDING:
                raise InputError(f"{place} has the weight {weight}, but attention weights lie between 0 and 1")
