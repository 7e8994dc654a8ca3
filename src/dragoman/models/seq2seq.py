"""An encoder and a decoder together."""

from dataclasses import dataclass, replace

from jaxtyping import Int
from torch import Tensor, nn

from dragoman.attention.hard import Reinforcement
from dragoman.attention.settings import HardSettings
from dragoman.interfaces import Decoder, DecoderOutput, Encoder, Padded
from dragoman.layers.experts import sum_penalties
from dragoman.special_ids import SPECIAL_IDS, SpecialIds


@dataclass(frozen=True)
class Vocabularies:
    """Vocabulary size of each side, and whether the two sides share one vocabulary."""

    source: int
    target: int
    shared: bool = False
    special: SpecialIds = SPECIAL_IDS
    """Special tokens of both."""


class Seq2Seq(nn.Module):
    """An encoder and a decoder; `source_positions` and `target_positions` limit the tokens of a sentence, unless None.

    `previous` is the number of previous source sentences that the encoder reads. `hard` adds what training with REINFORCE needs.
    """

    encoder: Encoder
    decoder: Decoder
    special: SpecialIds = SPECIAL_IDS

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        *,
        source_positions: int | None = None,
        target_positions: int | None = None,
        previous: int = 0,
        hard: HardSettings | None = None,
    ) -> None:
        super().__init__()
        self.source_positions = source_positions
        self.target_positions = target_positions
        self.previous = previous
        self.reinforcement = Reinforcement(hard) if hard is not None and hard.training == "reinforce" else None
        self.encoder = encoder
        self.decoder = decoder  # type: ignore[assignment]

    def forward(
        self, source: Padded, target: Int[Tensor, "batch target"], *, need_weights: bool = False
    ) -> DecoderOutput:
        """Encode `source` and predict the token after each of `target`; the penalty is that of both sides."""
        encoded = self.encoder(source)
        output, _ = self.decoder(target, self.decoder.start(encoded), need_weights=need_weights)
        return replace(output, penalty=sum_penalties([encoded.penalty, output.penalty]))
