"""Which sentences precede a sentence in its document."""

from collections.abc import Iterable


def preceding(documents: Iterable[str | None], count: int) -> list[list[int | None]]:
    """Return for each sentence the indices of the `count` before it in its document, nearest last.

    None if there is none. Neighbours of the same name are one document; a sentence without a name is one by itself.

    >>> preceding(["a", "a", "a", "b", None, None], 2)
    [[None, None], [None, 0], [0, 1], [None, None], [None, None], [None, None]]
    """
    rows: list[list[int | None]] = []
    before: str | None = None
    for index, document in enumerate(documents):
        follows = document is not None and document == before
        rows.append([*rows[-1], index - 1][1:] if follows and count else [None] * count)
        before = document
    return rows
