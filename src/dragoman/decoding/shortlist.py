"""Searching among few output tokens: those that the words of a batch are likely to become."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from dragoman.decoding.hypotheses import Hypotheses
from dragoman.interfaces import Decoder, DecoderOutput, DecoderState, Encoded


@dataclass(frozen=True)
class Shortlist:
    """Target ids that may always occur, all special ones among them, and those that each source id brings along."""

    always: Int[Tensor, " _"]
    likely: Int[Tensor, "source _"]

    def union(self, sources: Int[Tensor, "batch time"]) -> Int[Tensor, " kept"]:
        """Return the target ids that may occur in translations of these sentences, in the order of the vocabulary.

        >>> Shortlist(torch.arange(4), torch.tensor([[9, 5], [6, 0]])).union(torch.tensor([[0]])).tolist()
        [0, 1, 2, 3, 5, 9]
        """
        return torch.cat([self.always, self.likely[sources.unique()].flatten()]).unique()


class ShortlistedDecoder:
    """A decoder that knows only the target ids `kept` and calls them 0, 1, 2, ...; special tokens keep their ids.

    `narrow` makes an output layer over some ids of the decoder's own. Probabilities add up to 1 over `kept`, so they
    are a little larger than those over the whole vocabulary.
    """

    def __init__(self, decoder: Decoder, kept: Int[Tensor, " kept"], narrow: Callable[[Tensor], Any]) -> None:
        self.decoder = decoder
        self.kept = kept
        self.head = narrow(kept)

    def start(self, encoded: Encoded) -> DecoderState[Any, Any]:
        """Do what the decoder does."""
        return self.decoder.start(encoded)

    def __call__(
        self, tokens: Int[Tensor, "batch target"], state: DecoderState[Any, Any], *, need_weights: bool = False
    ) -> tuple[DecoderOutput, DecoderState[Any, Any]]:
        """Read tokens by their short numbers, and predict among these."""
        output, state = self.decoder(self.kept[tokens], state, need_weights=need_weights)
        return replace(output, head=self.head), state


def restore_vocabulary_ids(found: Hypotheses, kept: Int[Tensor, " kept"]) -> Hypotheses:
    """Give hypotheses over the ids `kept` the ids of the vocabulary again.

    >>> restore_vocabulary_ids(Hypotheses([[Hypothesis([4], -1.0, -1.0)]]), torch.tensor([0, 1, 2, 3, 70])).ids
    [[[70]]]
    """
    own = kept.tolist()
    return Hypotheses([[replace(one, ids=[own[i] for i in one.ids]) for one in some] for some in found.sentences])
