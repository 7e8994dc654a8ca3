"""Ids of the special tokens, declared only here. Does not import torch."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SpecialIds:
    """Ids of a vocabulary's special tokens; by default those of Dragoman's own.

    Search, sampling, rules and padding are given those of the target vocabulary, so that vocabularies of other toolkits can
    have different ones (NLLB: `<s>` 0, `<pad>` 1, `</s>` 2).
    """

    pad: int = 0
    bos: int = 1
    eos: int = 2
    unk: int = 3
    mask: int = 1
    """[MASK] of a masked language model, and of noised sources. In Dragoman's own vocabularies it is the id of BOS, which no text
    has; with tied embeddings, a decoder begins with the same vector."""
    tags: tuple[int, ...] = ()
    """Tags, which sources alone have, mostly at their start (`text/tags.py`)."""

    @property
    def unwritten(self) -> tuple[int, ...]:
        """Return the ids that no translation contains, whatever a model says: a search never chooses them.

        EOS is not among them, although other toolkits may begin with it, or pad with what they begin with.

        >>> SpecialIds(pad=1, bos=2, eos=2, unk=3, tags=(9,)).unwritten
        (1, 9)
        """
        return tuple(dict.fromkeys(one for one in (self.pad, self.bos, *self.tags) if one != self.eos))

    def ended(self, ids: Sequence[int]) -> list[int]:
        """Return a sentence with EOS after it, unless it has one before the tag that it ends with (`Frame.after`).

        >>> SpecialIds(tags=(9,)).ended([9, 4]), SpecialIds(tags=(9,)).ended([4, 2, 9])
        ([9, 4, 2], [4, 2, 9])
        """
        return [*ids] if self.closed(ids) else [*ids, self.eos]

    def closed(self, ids: Sequence[int]) -> bool:
        """Tell whether a sentence has an EOS and a tag at its end."""
        return len(self.tags) > 0 and len(ids) > 1 and ids[-2] == self.eos and ids[-1] in self.tags

    @property
    def all(self) -> tuple[int, ...]:
        """Return all special ids, each once, in ascending order.

        >>> SpecialIds().all
        (0, 1, 2, 3)
        """
        return tuple(sorted({self.pad, self.bos, self.eos, self.unk, self.mask, *self.tags}))


SPECIAL_IDS = SpecialIds()
"""The ids of Dragoman's own vocabularies."""
PAD, BOS, EOS, UNK, MASK = (
    SPECIAL_IDS.pad,
    SPECIAL_IDS.bos,
    SPECIAL_IDS.eos,
    SPECIAL_IDS.unk,
    SPECIAL_IDS.mask,
)
