"""Ids of the special tokens, declared only here. Does not import torch."""

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
    """[MASK] of a masked language model. In Dragoman's own vocabularies it is the id of BOS, which an encoder never reads."""
    tags: tuple[int, ...] = ()
    """Tags, with which sources may begin (`text/tags.py`)."""

    @property
    def unwritten(self) -> tuple[int, ...]:
        """Return the ids that no translation contains, whatever a model says: a search never chooses them."""
        return (self.pad, self.bos, *self.tags)

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
