"""Which sentences are computed together, and how much fits into memory. Does not import torch."""

from collections.abc import Iterator, Sequence

from dragoman.decoding.settings import SearchSettings
from dragoman.machine.memory import require_memory

BYTES = 8
"""Bytes that a hypothesis takes at the least for each token of the vocabulary: its logits, and what is made of them."""


def batches(lengths: Sequence[int], cells: int, *, ties: Sequence[int] | None = None) -> Iterator[list[int]]:
    """Yield the numbers of sentences, longest first, in batches whose rows times longest length fit into `cells`.

    Lengths are at least 1, and a batch has at least one row. Of equal lengths those with the larger of `ties` come first, then
    the earlier ones.

    >>> list(batches([2, 5, 3, 5], 10))
    [[1, 3], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], -ties[i] if ties else 0))
    first = 0
    while first < len(order):
        rows = max(1, cells // lengths[order[first]])
        yield order[first : first + rows]
        first += rows


def batches_of_one_length(lengths: Sequence[int], rows: int) -> Iterator[list[int]]:
    """Yield the numbers of sentences, shortest first, in batches of one length, of `rows` at the most.

    >>> list(batches_of_one_length([1, 0, 1], 64))
    [[1], [0, 2]]
    """
    groups: dict[int, list[int]] = {}
    for number, length in enumerate(lengths):
        groups.setdefault(length, []).append(number)
    for _, group in sorted(groups.items()):
        yield from (group[first : first + rows] for first in range(0, len(group), rows))


def check_memory(settings: SearchSettings, vocabulary: int, *, device: str = "cpu") -> None:
    """Refuse more hypotheses for a sentence than there is memory for. InputError names the setting to lower."""
    require_memory(
        settings.hypotheses * vocabulary * BYTES,
        f"following {settings.hypotheses:,} hypotheses for a sentence",
        "lower `decoding.n_best`" if settings.method == "sample" else "lower `decoding.beam`",
        device=device,
    )
