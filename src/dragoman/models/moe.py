"""Translation with mixtures of experts between LSTMs (Shazeer et al. 2017, section 5.3 and appendix E)."""

from typing import Literal

from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman.attention.scores import ScoreChoice, build_score
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import DecoderOutput, DecoderState, Encoded, Padded
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.attentive import AttendBefore, AttendedSource, attend_and_step
from dragoman.layers.dropout import Dropout
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.layers.experts import ExpertOutput, Experts, real_inputs
from dragoman.layers.projected import ProjectedLstm
from dragoman.models.capabilities import Capabilities
from dragoman.models.recurrent import RecurrentPast, RecurrentState
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.start_settings import StartSettings
from dragoman.settings import Settings
from dragoman.special_ids import SPECIAL_IDS, SpecialIds


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
    adapters: AdapterSettings | None = None
    """Train low-rank adapters of the run `start_from.whole`, which stays as it is; by default all weights are trained."""

    @model_validator(mode="after")
    def _check_cells(self) -> "MoeSettings":
        if self.cells <= self.width:
            raise ValueError(
                f"`model.cells` is {self.cells}, but the output of so many cells is projected to `model.width`, {self.width}; it "
                "must be larger"
            )
        return self

    @property
    def capabilities(self) -> Capabilities:
        """Return what the model supports."""
        bound = self.max_positions if self.score == "location" else None
        return Capabilities(source_heads=(1, 1), native=True, source_positions=bound)


class MixtureLayer(nn.Module):
    """x + sigmoid(experts(x)): the mixture of experts with sigmoid and residual connection (appendix E)."""

    def __init__(self, settings: MoeSettings) -> None:
        super().__init__()
        self.experts = Experts(settings.width, settings.expert_hidden, settings.experts)
        self.dropout = Dropout(settings.dropout)

    def forward(self, states: Float[Tensor, "batch time width"], real: Bool[Tensor, "batch time"]) -> ExpertOutput:
        """Apply to each real token its experts."""
        mixed = self.experts(states, real)
        return ExpertOutput(states + self.dropout(mixed.states.sigmoid()), mixed.penalty)


class MoeEncoder(nn.Module):
    """A bidirectional pair of LSTMs, a mixture of experts, and one more LSTM, all with residual connections."""

    def __init__(self, settings: MoeSettings, vocabulary: int) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocabulary, settings.width)
        self.dropout = Dropout(settings.dropout)
        self.both = ProjectedLstm(settings.width, settings.cells, settings.width, bidirectional=True)
        self.mixture = MixtureLayer(settings)
        self.above = ProjectedLstm(settings.width, settings.cells, settings.width)

    def forward(self, source: Padded) -> Encoded:
        """Return one state per source position, and the penalty for imbalanced experts."""
        states = self.dropout(self.embedding(source.ids))
        states = states + self.dropout(self.both.read(states, source.mask.sum(1)))
        mixed = self.mixture(states, source.mask)
        above, _ = self.above(mixed.states, self.above.start(states))
        return Encoded(mixed.states + self.dropout(above), source.mask, penalty=mixed.penalty)


class MoeDecoder(nn.Module):
    """An LSTM that attends with its last output, a mixture of experts, and one more LSTM, all with residual connections.

    At step i the query is the first LSTM's output of step i - 1, and the context is an input of that LSTM next to the
    embedding; the layers above need no loop. The state holds output and memory of the first LSTM, then those of the second.
    Deviations are listed at `build_moe`.
    """

    special: SpecialIds = SPECIAL_IDS

    def __init__(self, settings: MoeSettings, vocabulary: int) -> None:
        super().__init__()
        width = settings.width
        self.embedding = TokenEmbedding(vocabulary, width)
        self.dropout = Dropout(settings.dropout)
        score = build_score(settings.score, width, width, hidden=width, positions=settings.max_positions)
        self.attention = SingleHead(score, width)
        self.first = ProjectedLstm(2 * width, settings.cells, width)
        self.mixture = MixtureLayer(settings)
        self.second = ProjectedLstm(width, settings.cells, width)
        self.head = OutputLayer(width, vocabulary, self.embedding if settings.tied else None)

    def start(self, encoded: Encoded) -> RecurrentState:
        """Prepare the encoder's states for the score; both LSTMs start at zero."""
        memory = self.attention.prepare(encoded.states, encoded.states)
        hidden = (*self.first.start(encoded.states), *self.second.start(encoded.states))
        return DecoderState(AttendedSource(encoded.mask, memory), RecurrentPast(hidden))

    def forward(
        self, tokens: Int[Tensor, "batch target"], state: RecurrentState, *, need_weights: bool = False
    ) -> tuple[DecoderOutput, RecurrentState]:
        """Run the first LSTM position by position, and everything above it over all positions at once."""
        embedded, past = self.dropout(self.embedding(tokens)), state.past
        looped = attend_and_step(
            self.first,
            self.attention,
            embedded,
            source=state.source,
            state=past.hidden[:2],
            order=AttendBefore(),
            offset=past.position,
            need_weights=need_weights,
        )
        mixed = self.mixture(embedded + self.dropout(looped.states), real_inputs(tokens, self.special))
        above, second = self.second(mixed.states, past.hidden[2:])
        output = DecoderOutput(mixed.states + self.dropout(above), self.head, looped.attention, mixed.penalty)
        after = RecurrentPast((*looped.last, *second), position=past.position + tokens.shape[1])
        return output, DecoderState(state.source, after)


def build_moe(settings: MoeSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Build the system of Shazeer et al. 2017, appendix E: 3 and 2 LSTMs, experts after the second and after the fourth.

    The paper counts GNMT's encoder, a bidirectional layer and seven others, as nine LSTMs, so its three are taken to be a
    bidirectional pair and one above. The paper reports 85 million multiplications per position; five such LSTMs (512 inputs,
    2048 cells, 512 outputs), one of which also reads the context, 2 x 4 experts, the attention and the output layer over
    32,000 tokens make 85.1. Unspecified there and chosen here: the outputs of the pair are added, as all layers have outputs
    of 512; residuals skip the context, as in GNMT; the context is an input of the first decoder LSTM only; the decoder's
    initial state is zero; the embeddings are not shared.
    """
    return Seq2Seq(
        MoeEncoder(settings, vocabularies.source),
        MoeDecoder(settings, vocabularies.target),
        source_positions=settings.max_positions if settings.score == "location" else None,
    )
