"""A decoder small enough to enumerate: its logits are drawn at random for each (source, prefix)."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from dragoman.attention.sharing import for_each_hypothesis
from dragoman.interfaces import BOS, EOS, DecoderOutput, DecoderState, Encoded

PRIME = 10_007
WIDTH = 8


class ToyHead:
    """Looks logits up by the number of a prefix."""

    def __init__(self, table: Tensor) -> None:
        self.table = table

    def __call__(self, features: Tensor) -> Tensor:
        return self.table[features[..., 0].long()]

    def loss(self, features: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        plain = cross_entropy(self(features), labels, reduction="sum")
        return cross_entropy(self(features), labels, reduction="sum", label_smoothing=smoothing), plain


class ToyDecoder:
    """Every prefix of every source has its own random logits and attention weights."""

    def __init__(self, vocabulary: int = 6, *, seed: int = 0, attends: bool = True) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.table = 2 * torch.randn(PRIME, vocabulary, generator=generator)
        self.attention = torch.randn(PRIME, WIDTH, generator=generator)
        self.attends = attends

    def start(self, encoded: Encoded) -> DecoderState[Any, Any]:
        sources = encoded.states[:, 0, 0].long()
        return DecoderState(source=(sources, encoded.mask), past=sources * 17)

    def __call__(
        self, tokens: Int[Tensor, "batch target"], state: DecoderState[Any, Any], *, need_weights: bool = False
    ) -> tuple[DecoderOutput, DecoderState[Any, Any]]:
        (sources, mask), seen, hashes = state.source, state.past, []
        sources = for_each_hypothesis(sources, len(tokens))
        for column in tokens.unbind(1):
            seen = (seen * 31 + column * 7 + sources) % PRIME
            hashes.append(seen)
        prefixes = torch.stack(hashes, 1)
        attention = None
        if need_weights and self.attends:
            scores = self.attention[prefixes][:, :, : mask.shape[1]].masked_fill(~mask[:, None], -torch.inf)
            attention = scores.softmax(-1)[:, None, None]
        output = DecoderOutput(prefixes[:, :, None].float(), ToyHead(self.table), attention)
        return output, DecoderState(state.source, seen)


def encoded(sources: list[int], length: int = 4) -> Encoded:
    """Return source sentences that differ by a number; each is one token shorter than the one before."""
    states = torch.tensor(sources, dtype=torch.float)[:, None, None].expand(-1, length, 1)
    lengths = torch.tensor([max(1, length - row) for row in range(len(sources))])
    return Encoded(states, torch.arange(length) < lengths[:, None])


def log_prob(decoder: ToyDecoder, source: int, ids: list[int]) -> float:
    """Multiply up the model's probabilities of `ids` and EOS, one token at a time."""
    total, state = 0.0, decoder.start(encoded([source]))
    for token, following in zip([BOS, *ids], [*ids, EOS], strict=True):
        output, state = decoder(torch.tensor([[token]]), state)
        total += float(output.logits[0, -1].log_softmax(-1)[following])
    return total
