"""Group sentences into batches, and check that they fit into memory. Does not import torch."""

from collections.abc import Iterator, Sequence

from dragoman.decoding.settings import SearchSettings
from dragoman.machine.memory import require_memory

BYTES = 8
"""Minimum memory of a hypothesis per token of the vocabulary in bytes: its logits and log-probabilities."""
BATCH_LOGITS = 1 << 26
"""Most logits of a batch (256 MiB in float32), of which search and scoring hold a few copies."""


def batches(lengths: Sequence[int], cells: int, *, ties: Sequence[int] | None = None) -> Iterator[list[int]]:
    """Yield the indices of sentences, longest first, in batches whose rows times longest length fit into `cells`.

    Lengths are at least 1, and a batch has at least one row. Equal lengths are ordered by larger `ties`, then by position.

    >>> list(batches([2, 5, 3, 5], 10))
    [[1, 3], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], -ties[i] if ties else 0))
    first = 0
    while first < len(order):
        rows = max(1, cells // lengths[order[first]])
        yield order[first : first + rows]
        first += rows


def cells_of_logits(vocabulary: int, cells: int) -> int:
    """Return how many of the `cells` of a batch the logits of one token take, so that no batch has more than BATCH_LOGITS.

    >>> cells_of_logits(8_000, 6000), cells_of_logits(250_000, 6000)
    (1, 23)
    """
    return -(-vocabulary * cells // BATCH_LOGITS)


def batches_of_one_length(lengths: Sequence[int], rows: int) -> Iterator[list[int]]:
    """Yield the indices of sentences, shortest first, in batches of equal length, with at most `rows` rows.

    >>> list(batches_of_one_length([1, 0, 1], 64))
    [[1], [0, 2]]
    """
    groups: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        groups.setdefault(length, []).append(number)
    for _, group in sorted(groups.items()):
        yield from (group[first : first + rows] for first in range(0, len(group), rows))


def check_memory(settings: SearchSettings, vocabulary: int, *, device: str = "cpu") -> None:
    """Raise InputError, which names the setting to lower, if the hypotheses of a sentence do not fit into memory."""
    for name, size in settings.sizes.items():
        require_memory(
            size * vocabulary * BYTES,
            f"keeping {size:,} hypotheses for a sentence",
            f"lower `decoding.{name}`",
            device=device,
        )
