"""Vocabularies: tokens and their ids."""

from collections.abc import Iterator, Sequence

from dragoman.errors import TextError

PAD, BOS, EOS, UNK = 0, 1, 2, 3
"""Ids of the special pieces, the same in every vocabulary."""

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
"""Names of the special pieces, in the order of their ids."""


class Vocabulary:
    """Pieces and their ids: 0 to 3 are the special pieces, the others follow in the order given.

    TextError where a piece is given twice.

    >>> vocabulary = Vocabulary(["cat", "dog"])
    >>> vocabulary.id("dog"), vocabulary.piece(5), vocabulary.id("bird"), len(vocabulary)
    (5, 'dog', 3, 6)
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self._pieces = (*SPECIAL, *pieces)
        self._ids = {piece: index for index, piece in enumerate(self._pieces)}
        if len(self._ids) < len(self._pieces):
            twice = next(piece for index, piece in enumerate(self._pieces) if self._ids[piece] != index)
            raise TextError(f"the piece {twice!r} is in a vocabulary twice; each piece may be there once")

    def __len__(self) -> int:
        return len(self._pieces)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def id(self, piece: str) -> int:
        """Return the id of `piece`, or UNK."""
        return self._ids.get(piece, UNK)

    def piece(self, index: int) -> str:
        """Return the piece whose id is `index`; IndexError where there is none."""
        if index < 0:
            raise IndexError(index)
        return self._pieces[index]
