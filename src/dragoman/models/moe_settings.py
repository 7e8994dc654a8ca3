"""Settings of the recurrent system with mixtures of experts."""

from typing import Literal

from pydantic import Field

from dragoman.attention.scores import ScoreChoice
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.models.capabilities import Capabilities
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings


class MoeSettings(Settings):
    """LSTMs with a mixture of experts in the encoder and in the decoder (Shazeer et al. 2017)."""

    kind: Literal["moe"] = "moe"
    width: int = Field(512, ge=1)
    """Size of embeddings and of every layer's input and output."""
    cells: int = Field(2048, ge=1)
    """Cells of each LSTM; its output is projected to `width`."""
    expert_hidden: int = Field(2048, ge=1)
    """Inner size of each expert."""
    experts: ExpertSettings = ExpertSettings(experts=32, active=4, gate="balanced")
    """The two mixtures of experts, one in the encoder and one in the decoder."""
    score: ScoreChoice = "product"
    """Attention score: how the first decoder LSTM's last output is compared with encoder states."""
    tied: bool = False
    """Tie the output layer to the target embedding."""
    dropout: float = Field(0.4, ge=0, lt=1)
    """Dropout on embeddings and on the output of each LSTM and each mixture."""
    max_positions: int = Field(512, ge=1)
    """Maximum source length for the location score, in tokens."""
    start_from: StartSettings | None = None
    """Trained runs to initialise from; by default all weights are random."""

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        bound = self.max_positions if self.score == "location" else None
        return Capabilities(source_heads=(1, 1), native=True, source_positions=bound)
