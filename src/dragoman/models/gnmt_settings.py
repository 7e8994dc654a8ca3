"""Settings of Google's recurrent system, GNMT."""

from typing import Literal

from pydantic import Field

from dragoman.attention.scores import ScoreChoice
from dragoman.models.capabilities import Capabilities
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings


class GnmtSettings(Settings):
    """Google's deep recurrent system of 2016: many LSTM layers with residual connections, and attention from the lowest."""

    kind: Literal["gnmt"] = "gnmt"
    encoder_layers: int = Field(8, ge=2)
    """LSTM layers of the encoder: the lowest, which reads in both directions and counts as one, and those above it."""
    decoder_layers: int = Field(8, ge=1)
    """LSTM layers of the decoder."""
    hidden: int = Field(1024, ge=1)
    """Size of every LSTM layer (of each direction of the lowest) and of embeddings."""
    score: ScoreChoice = "additive"
    """How the lowest decoder layer's state is matched with encoder states."""
    tied: bool = False
    """Share the target embedding with the output layer."""
    initial_range: float | None = Field(0.04, gt=0)
    """All weights start uniform between minus and plus this (the paper's 0.04); null: orthogonal recurrent matrices, Xavier."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropped from the input of every layer and before the output layer."""
    max_positions: int = Field(512, ge=1)
    """Longest source of the location score, in tokens."""
    start_from: StartSettings | None = None
    """Trained runs to start from; by default all weights are drawn at random."""

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        bound = self.max_positions if self.score == "location" else None
        return Capabilities(source_heads=(1, 1), native=True, stepwise=True, source_positions=bound)
