"""Restrict search to a shortlist: the tokens that the words of a sentence are likely to become."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.attention.sharing import for_each_hypothesis
from dragoman.decoding.hypotheses import Hypotheses, Hypothesis, SearchStep, Watch
from dragoman.interfaces import Decoder, DecoderState, Encoded, Head
from dragoman.special_ids import SpecialIds


@dataclass(frozen=True)
class Listed:
    """The target ids that translations of a batch may have, in the order of the vocabulary."""

    kept: Int[Tensor, " kept"]
    """The ids for any sentence; the shortlisted decoder renumbers them 0, 1, 2, ..."""
    allowed: Bool[Tensor, "batch kept"] | None
    """Which of them each sentence may have, so that its translation does not depend on the others; None for all."""

    def special(self, special: SpecialIds) -> SpecialIds:
        """Return the special ids after renumbering.

        >>> Listed(torch.tensor([3, 5, 7, 8, 9]), None).special(SpecialIds(pad=7, bos=5, eos=9, unk=8, mask=5))
        SpecialIds(pad=2, bos=1, eos=4, unk=3, mask=1, tags=())
        """
        called = {token: number for number, token in enumerate(self.kept.tolist())}
        tags = tuple(called[tag] for tag in special.tags if tag in called)
        single = [one.name for one in fields(special) if one.name != "tags"]
        return SpecialIds(**{name: called.get(getattr(special, name), -1) for name in single}, tags=tags)


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

    def listed(self, sources: Int[Tensor, "batch time"], wished: Int[Tensor, "batch _"] | None = None) -> Listed:
        """Return the target ids that may occur in translations of these sentences, and in that of each; `wished` ones, too.

        >>> Shortlist(torch.arange(4), torch.tensor([[9, 5], [6, 0]])).listed(torch.tensor([[0], [1]])).allowed[:, 4:]
        tensor([[ True, False,  True],
                [False,  True, False]])
        """
        kept, likely = self.union(sources), self.likely[sources].flatten(1)
        if wished is not None:
            kept, likely = torch.cat([kept, wished.flatten()]).unique(), torch.cat([likely, wished], 1)
        if len(sources) == 1:
            return Listed(kept, None)
        allowed = torch.zeros((len(sources), int(kept[-1]) + 1), dtype=torch.bool, device=kept.device)
        allowed[:, self.always] = True
        return Listed(kept, allowed.scatter(1, likely, True)[:, kept])


class ShortlistedDecoder:
    """A decoder that knows only the target ids `listed` and calls them 0, 1, 2, ...; of special tokens too, see `Listed.special`.

    `narrow` makes an output layer over some ids of the decoder's own. Probabilities add up to 1 over the ids of a sentence,
    so they are a little larger than those over the whole vocabulary.
    """

    def __init__(self, decoder: Decoder, listed: Listed, narrow: Callable[[Tensor], Head]) -> None:
        self.decoder = decoder
        self.listed = listed
        self.head = narrow(listed.kept)

    def start(self, encoded: Encoded) -> DecoderState[Any, Any]:
        """Start the decoder, and keep the allowed tokens of each sentence next to its source."""
        state = self.decoder.start(encoded)
        return DecoderState((state.source, self.listed.allowed), state.past)

    def step(
        self, tokens: Int[Tensor, "rows 1"], state: DecoderState[Any, Any]
    ) -> tuple[Float[Tensor, "rows kept"], DecoderState[Any, Any]]:
        """Process renumbered tokens; return their float32 logits, minus infinity for tokens not allowed in a row."""
        source, allowed = state.source
        output, after = self.decoder(self.listed.kept[tokens], DecoderState(source, state.past))
        logits = self.head(output.features)[:, -1].float()
        if allowed is not None:
            logits = logits.masked_fill(~for_each_hypothesis(allowed, len(tokens)), -torch.inf)
        return logits, DecoderState((after.source, allowed), after.past)


def restore_vocabulary_ids(found: Hypotheses, kept: Int[Tensor, " kept"]) -> Hypotheses:
    """Map hypotheses over the ids `kept` back to the ids of the vocabulary.

    >>> from dragoman.decoding.hypotheses import Hypothesis
    >>> restore_vocabulary_ids(Hypotheses([[Hypothesis([4], -1.0, -1.0)]]), torch.tensor([0, 1, 2, 3, 70])).ids
    [[[70]]]
    """
    own = kept.tolist()
    return Hypotheses([[replace(one, ids=[own[i] for i in one.ids]) for one in some] for some in found.sentences])


@dataclass(frozen=True)
class RestoredWatch:
    """The watch over a search among the ids `kept`, which is shown ids of the vocabulary."""

    watch: Watch
    kept: Int[Tensor, " kept"]

    def abandoned(self) -> Collection[int]:
        """Return the sentences that nobody waits for any more."""
        return self.watch.abandoned()

    def see(self, step: SearchStep) -> None:
        """Show a step."""
        self.watch.see(SearchStep(self._restored(step.completed), lambda: self._restored(step.open_hypotheses())))

    def _restored(self, found: Mapping[int, list[Hypothesis]]) -> dict[int, list[Hypothesis]]:
        """Return hypotheses over the ids of the vocabulary."""
        restored = restore_vocabulary_ids(Hypotheses(list(found.values())), self.kept)
        return dict(zip(found, restored.sentences, strict=True))
