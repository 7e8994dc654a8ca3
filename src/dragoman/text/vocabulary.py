"""Vocabularies: tokens and their ids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dragoman.errors import TextError
from dragoman.special_ids import BOS as BOS
from dragoman.special_ids import EOS as EOS
from dragoman.special_ids import PAD as PAD
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.special_ids import UNK as UNK
from dragoman.text.tags import is_tag

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
"""Names of the special tokens, in the order of their ids."""


class Vocabulary:
    """Tokens and their ids: the special tokens come first, the others follow in the given order.

    Raises TextError if a token is given twice.

    >>> vocabulary = Vocabulary(["cat", "dog"])
    >>> vocabulary.id("dog"), vocabulary.piece(5), vocabulary.id("bird"), len(vocabulary)
    (5, 'dog', 3, 6)
    """

    def __init__(
        self, pieces: Sequence[str], special: SpecialIds | None = None, tags: Mapping[str, int] | None = None
    ) -> None:
        """Number the tokens; if `special` is given, they include the special ones, at these ids.

        `tags` are the ids of tags, if they are not the tokens with such names.
        """
        self._pieces = (*SPECIAL, *pieces) if special is None else tuple(pieces)
        self._ids = {piece: index for index, piece in enumerate(self._pieces)}
        if tags is None:
            tags = {piece: index for index, piece in enumerate(self._pieces) if is_tag(piece)}
        self.tags: Mapping[str, int] = dict(tags)
        """The id of each tag."""
        self.special = replace(special or SPECIAL_IDS, tags=tuple(self.tags.values()))
        if len(self._ids) < len(self._pieces):
            twice = next(piece for index, piece in enumerate(self._pieces) if self._ids[piece] != index)
            raise TextError(f"the token {twice!r} is in a vocabulary twice; each token may be there once")

    def __len__(self) -> int:
        return len(self._pieces)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def id(self, piece: str) -> int:
        """Return the id of `piece`, or that of the unknown token."""
        return self._ids.get(piece, self.special.unk)

    def piece(self, index: int) -> str:
        """Return the token with the id `index`. Raises IndexError if there is none."""
        if index < 0:
            raise IndexError(index)
        return self._pieces[index]
