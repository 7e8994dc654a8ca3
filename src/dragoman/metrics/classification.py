"""Metrics of classification: accuracy, F1, and the confusion matrix."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Confusion:
    """Confusion matrix: a row for each true label, a column for each predicted one."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """Return the number of documents."""
        return sum(map(sum, self.counts))

    @property
    def accuracy(self) -> float:
        """Return the share of documents with the correct label."""
        return sum(row[at] for at, row in enumerate(self.counts)) / self.total

    @property
    def majority(self) -> float:
        """Return the accuracy of always predicting the most frequent true label."""
        return max(map(sum, self.counts)) / self.total

    @property
    def macro_f1(self) -> float:
        """Return the mean F1 of the labels that occur as true or predicted ones.

        >>> round(confusion(["a", "b", "c"], ["a", "a", "b"], ["a", "b", "b"]).macro_f1, 3)
        0.667
        """
        found = [self.f1(label) for label in self.labels if self._true(label) or self._predicted(label)]
        return sum(found) / len(found)

    def precision(self, label: str) -> float:
        """Return the share of documents predicted as `label` that have it; 0 if there are none."""
        predicted = self._predicted(label)
        return self._right(label) / predicted if predicted else 0.0

    def recall(self, label: str) -> float:
        """Return the share of documents with `label` that are predicted as such; 0 if there are none."""
        true = self._true(label)
        return self._right(label) / true if true else 0.0

    def f1(self, label: str) -> float:
        """Return the harmonic mean of precision and recall; 0 if the label does not occur."""
        both = self._true(label) + self._predicted(label)
        return 2 * self._right(label) / both if both else 0.0

    def render(self) -> str:
        """Return the counts as lines of text: true labels in rows, predicted ones in columns."""
        table = [["true \\ predicted", *self.labels]]
        table += [[label, *map(str, row)] for label, row in zip(self.labels, self.counts, strict=True)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in table
        ]
        return "\n".join(line.rstrip() for line in lines)

    def _true(self, label: str) -> int:
        """Return how many documents have `label`."""
        return sum(self.counts[self.labels.index(label)])

    def _predicted(self, label: str) -> int:
        """Return how many documents are predicted to have `label`."""
        at = self.labels.index(label)
        return sum(row[at] for row in self.counts)

    def _right(self, label: str) -> int:
        """Return how many documents have `label` and are predicted to."""
        at = self.labels.index(label)
        return self.counts[at][at]


def confusion(labels: Sequence[str], true: Sequence[str], predicted: Sequence[str]) -> Confusion:
    """Count how often each true label is predicted as each label.

    >>> confusion(["a", "b"], ["a", "a", "b"], ["a", "b", "b"]).counts
    ((1, 1), (0, 1))
    """
    counts = Counter(zip(true, predicted, strict=True))
    return Confusion(tuple(labels), tuple(tuple(counts[row, column] for column in labels) for row in labels))
