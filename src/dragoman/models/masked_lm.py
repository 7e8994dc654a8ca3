"""The encoder alone, as a masked language model (Devlin et al. 2019): it fills blanks, reading both sides of each."""

from jaxtyping import Float
from torch import Tensor, nn

from dragoman.interfaces import Padded
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer import TransformerEncoder
from dragoman.models.transformer_settings import MaskedSettings


class MaskedLanguageModel(nn.Module):
    """The Transformer's encoder and an output layer over its states, which shares the embedding's matrix.

    Source: Devlin et al. 2019, section 3.1, task 1. Deviations: sentences stand alone, without segments and without the
    task of the next sentence; the output layer reads the encoder's states directly, without one more layer before it.
    """

    def __init__(self, settings: MaskedSettings, vocabulary: int) -> None:
        super().__init__()
        self.source_positions = self.target_positions = settings.bound
        embedding = TokenEmbedding(vocabulary, settings.width)
        self.encoder = TransformerEncoder(settings, embedding)
        self.head = OutputLayer(settings.width, vocabulary, embedding)

    def forward(self, source: Padded) -> Float[Tensor, "batch source width"]:
        """Return what `head` reads to say which token stands at each position; [MASK] has the id `special_ids.MASK`."""
        return self.encoder(source).states


def build_masked(settings: MaskedSettings, vocabularies: Vocabularies) -> MaskedLanguageModel:
    """Make the model that `settings` describe; it reads the source side."""
    return MaskedLanguageModel(settings, vocabularies.source)
