"""The one place that chooses among architectures."""

from typing import Annotated

from pydantic import Field

from dragoman.models.rnn import RecurrentSettings, build_rnn
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer import TransformerSettings, build_transformer

ModelSettings = Annotated[RecurrentSettings | TransformerSettings, Field(discriminator="kind")]


def build_model(settings: RecurrentSettings | TransformerSettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Make the model that `settings` describe, with fresh weights from torch's random state."""
    match settings:
        case RecurrentSettings():
            return build_rnn(settings, vocabularies)
        case TransformerSettings():
            return build_transformer(settings, vocabularies)
