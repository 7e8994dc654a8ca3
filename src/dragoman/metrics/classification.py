"""How often labels are right: accuracy, F1, and which label is taken for which."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Confusion:
    """Counts of documents: a row for each true label, a column for each predicted one."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """How many documents there are."""
        return sum(map(sum, self.counts))

    @property
    def accuracy(self) -> float:
        """Share of documents whose label is right."""
        return sum(row[at] for at, row in enumerate(self.counts)) / self.total

    @property
    def majority(self) -> float:
        """Accuracy of always saying the most frequent true label."""
        return max(map(sum, self.counts)) / self.total

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels that occur, be it as true or as predicted ones.

        >>> round(confusion(["a", "b", "c"], ["a", "a", "b"], ["a", "b", "b"]).macro_f1, 3)
        0.667
        """
        found = [self.f1(label) for label in self.labels if any(self._of(label))]
        return sum(found) / len(found)

    def precision(self, label: str) -> float:
        """Share of the documents predicted to have `label` that have it; 0 where there are none."""
        right, predicted, _ = self._of(label)
        return right / predicted if predicted else 0.0

    def recall(self, label: str) -> float:
        """Share of the documents that have `label` that are predicted to; 0 where there are none."""
        right, _, true = self._of(label)
        return right / true if true else 0.0

    def f1(self, label: str) -> float:
        """Harmonic mean of precision and recall; 0 where the label occurs nowhere."""
        right, predicted, true = self._of(label)
        return 2 * right / (predicted + true) if predicted + true else 0.0

    def render(self) -> str:
        """Return the counts as lines of text: true labels downwards, predicted ones across."""
        table = [["true \\ predicted", *self.labels]]
        table += [[label, *map(str, row)] for label, row in zip(self.labels, self.counts, strict=True)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in table
        ]
        return "\n".join(line.rstrip() for line in lines)

    def _of(self, label: str) -> tuple[int, int, int]:
        """Return how many documents rightly have `label`, how many are predicted to, and how many truly do."""
        at = self.labels.index(label)
        return self.counts[at][at], sum(row[at] for row in self.counts), sum(self.counts[at])


def confusion(labels: Sequence[str], true: Sequence[str], predicted: Sequence[str]) -> Confusion:
    """Count which label is taken for which.

    >>> confusion(["a", "b"], ["a", "a", "b"], ["a", "b", "b"]).counts
    ((1, 1), (0, 1))
    """
    counts = Counter(zip(true, predicted, strict=True))
    return Confusion(tuple(labels), tuple(tuple(counts[row, column] for column in labels) for row in labels))
