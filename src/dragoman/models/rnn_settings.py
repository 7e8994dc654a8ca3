"""Settings of recurrent encoder-decoders."""

from typing import Literal

from pydantic import Field, model_validator

from dragoman.attention.scores import ScoreChoice
from dragoman.attention.settings import HardSettings, WeightsName, WindowSettings
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.lexical_settings import NEEDS_TIED
from dragoman.layers.recurrent import CellName
from dragoman.models.capabilities import Capabilities
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings


class RecurrentSettings(Settings):
    """A recurrent encoder-decoder."""

    kind: Literal["rnn"] = "rnn"
    decoder: Literal["plain", "bahdanau", "luong", "posterior"] = "bahdanau"
    """plain: no attention, one fixed context. bahdanau: attend with the previous state, then step. luong: step, then attend.
    posterior: as luong, with attention corrected by the token just generated (Shankar and Sarawagi 2019)."""
    cell: CellName = "gru"
    """gru or lstm."""
    embedding: int = Field(256, ge=1)
    """Size of token embeddings."""
    hidden: int = Field(512, ge=1)
    """Size of the decoder's state."""
    encoder_hidden: int | None = Field(None, ge=1)
    """Size of each encoder direction; by default encoder outputs have the size of the decoder's state."""
    layers: int = Field(1, ge=1, le=1000)
    """Recurrent layers of encoder and decoder."""
    bidirectional: bool = True
    """Use a bidirectional encoder."""
    score: ScoreChoice = "additive"
    """Attention score: how decoder states are compared with encoder states."""
    weights: WeightsName = "softmax"
    """How scores become weights: softmax, sparsemax or entmax15."""
    window: WindowSettings | None = None
    """Local attention; by default attention is global."""
    hard: HardSettings | None = None
    """Hard attention; by default attention is soft."""
    marginal: bool = False
    """Predict from every source position separately and sum the probabilities: exact hard attention (Deng et al. 2018)."""
    input_feeding: bool = False
    """luong only: feed the attention vector of each step into the next (Luong et al. 2015, section 3.3)."""
    deep_output: bool = True
    """bahdanau only: predict from state, context and embedding through a maxout layer (Bahdanau et al. 2015, A.2.2)."""
    tied: bool = False
    """Tie the output layer to the target embedding; its input then has the embedding size."""
    lexical: bool = False
    """Let the source embeddings attended to reach the output layer directly: words are learned sooner, and rare ones better
    (Nguyen and Chiang 2018, section 4). Needs attention, and `tied`."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Dropout between layers, and where `outer_dropout` applies unless that is set."""
    outer_dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout on embeddings, on encoder outputs and before the output layer; by default the same as `dropout`."""
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout on attention weights."""
    max_positions: int = Field(512, ge=1)
    """Maximum source length for the location score, in tokens."""
    start_from: StartSettings | None = None
    """Trained runs to initialise from; by default all weights are random."""
    adapters: AdapterSettings | None = None
    """Train low-rank adapters of the run `start_from.whole`, which stays as it is; by default all weights are trained."""

    @model_validator(mode="after")
    def _check(self) -> "RecurrentSettings":
        if self.input_feeding and self.decoder != "luong":
            raise ValueError("`model.input_feeding` works only with `model.decoder: luong`; change one of the two")
        if self.lexical and not self.tied:
            raise ValueError(NEEDS_TIED.format(remedy="`model.tied: true`"))
        special = {
            "lexical": self.lexical,
            "weights": self.weights != "softmax",
            "window": self.window is not None,
            "hard": self.hard is not None,
            "marginal": self.marginal,
        }
        unfit = next((name for name, given in special.items() if given and self.decoder == "plain"), None)
        if unfit is not None:
            raise ValueError(
                f"`model.{unfit}` needs attention, but `model.decoder: plain` has none; choose bahdanau, luong or posterior"
            )
        if self.hard is not None and self.is_mixture:
            other = "decoder: posterior" if self.decoder == "posterior" else "marginal"
            raise ValueError(
                f"`model.hard` selects one position, but `model.{other}` sums over all; remove one of the two"
            )
        if self.marginal and self.decoder == "bahdanau" and not self.deep_output:
            raise ValueError(
                "`model.marginal` predicts from each source position, but with `model.deep_output: false` the output sees "
                "only the state; set `model.deep_output: true`"
            )
        if self.bidirectional and self.encoder_hidden is None and self.hidden % 2:
            raise ValueError("`model.hidden` must be even for a bidirectional encoder, or set `model.encoder_hidden`")
        return self

    @property
    def is_mixture(self) -> bool:
        """Tell whether the output is a sum of predictions over source positions."""
        return self.marginal or self.decoder == "posterior"

    @property
    def outer(self) -> float:
        """Return the dropout rate outside the recurrent layers."""
        return self.dropout if self.outer_dropout is None else self.outer_dropout

    @property
    def direction_size(self) -> int:
        """Return the size of each direction of the encoder."""
        return self.encoder_hidden or (self.hidden // 2 if self.bidirectional else self.hidden)

    @property
    def encoder_output_size(self) -> int:
        """Return the size of an encoder output."""
        return self.direction_size * (2 if self.bidirectional else 1)

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        attends, location = self.decoder != "plain", self.score == "location"
        drawn = {"model.hard": self.hard is not None, "model.score: location": location}
        return Capabilities(
            source_heads=(1, 1) if attends else None,
            mixes=self.is_mixture,
            lexicon=self.lexical,
            drops_attention=attends and (not self.is_mixture or self._feeds_context),
            native=True,
            stepwise=self.decoder in ("bahdanau", "posterior") or (self.decoder == "luong" and self.input_feeding),
            data_dependent=tuple(name for name, given in drawn.items() if given and attends),
            source_positions=self.max_positions if location and attends else None,
            window=self.window,
        )

    @property
    def _feeds_context(self) -> bool:
        """Tell whether the average of the source is an input of the next step, whatever the output reads."""
        return self.decoder == "bahdanau" or (self.decoder == "luong" and self.input_feeding)
