"""Encoder-only masked language model (Devlin et al. 2019): it fills in masked tokens from both sides of each."""

from jaxtyping import Float
from torch import Tensor, nn

from dragoman.interfaces import Padded
from dragoman.layers.embedding import OutputLayer, TokenEmbedding
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer import TransformerEncoder
from dragoman.models.transformer_settings import MaskedSettings
from dragoman.special_ids import SPECIAL_IDS, SpecialIds


class MaskedLanguageModel(nn.Module):
    """The Transformer's encoder and an output layer over its states, tied to the embedding.

    Source: Devlin et al. 2019, section 3.1, task 1. Deviations: single sentences, without segments and without next-sentence
    prediction; the output layer reads the encoder's states directly, without an extra layer.
    """

    special: SpecialIds = SPECIAL_IDS

    def __init__(self, settings: MaskedSettings, vocabulary: int) -> None:
        super().__init__()
        self.source_positions = self.target_positions = settings.bound
        embedding = TokenEmbedding(vocabulary, settings.width)
        self.encoder = TransformerEncoder(settings, embedding)
        self.head = OutputLayer(settings.width, vocabulary, embedding)

    def forward(self, source: Padded) -> Float[Tensor, "batch source width"]:
        """Return the features from which `head` predicts the token at each position; [MASK] has the id `special.mask`."""
        return self.encoder(source).states


def build_masked(settings: MaskedSettings, vocabularies: Vocabularies) -> MaskedLanguageModel:
    """Build the model that `settings` describe; it reads the source side."""
    return MaskedLanguageModel(settings, vocabularies.source)
