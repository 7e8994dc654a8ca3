"""Settings of Google's recurrent system, GNMT."""

from typing import Literal

from pydantic import Field

from dragoman.attention.scores import ScoreChoice
from dragoman.models.capabilities import Capabilities
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings


class GnmtSettings(Settings):
    """Google's recurrent system of 2016: deep LSTM stacks with residual connections that attend from the lowest decoder layer."""

    kind: Literal["gnmt"] = "gnmt"
    encoder_layers: int = Field(8, ge=2, le=1000)
    """LSTM layers of the encoder; the lowest is bidirectional and counts as one."""
    decoder_layers: int = Field(8, ge=1, le=1000)
    """LSTM layers of the decoder."""
    hidden: int = Field(1024, ge=1)
    """Size of every LSTM layer (of each direction of the lowest) and of embeddings."""
    score: ScoreChoice = "additive"
    """Attention score: how the lowest decoder layer's state is compared with encoder states."""
    tied: bool = False
    """Tie the output layer to the target embedding."""
    initial_range: float | None = Field(0.04, gt=0)
    """Initial weights are uniform between minus and plus this; null: orthogonal and Xavier initialisation. The paper's 0.04 is
    for layers of 1024: through smaller ones hardly any signal passes (with 256 units, the first gradient of the source
    embeddings is 500 times smaller than with null), and they learn little but word frequencies; set null for them."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout on the input of every layer and before the output layer."""
    max_positions: int = Field(512, ge=1)
    """Maximum source length for the location score, in tokens."""
    start_from: StartSettings | None = None
    """Trained runs to initialise from; by default all weights are random."""

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        bound = self.max_positions if self.score == "location" else None
        return Capabilities(source_heads=(1, 1), native=True, stepwise=True, source_positions=bound)
