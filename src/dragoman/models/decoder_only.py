"""Decoder-only causal language model (Radford et al. 2018): it continues text, whatever the source."""

import torch
from torch import nn

from dragoman.interfaces import Encoded, Padded
from dragoman.layers.embedding import TokenEmbedding
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer import TransformerDecoder
from dragoman.models.transformer_settings import DecoderOnlySettings


class NoEncoder(nn.Module):
    """Placeholder for an encoder: it reads nothing, and its states have no features."""

    def forward(self, source: Padded) -> Encoded:
        """Return empty states."""
        return Encoded(torch.empty(*source.ids.shape, 0, device=source.ids.device), source.mask)


def build_decoder_only(settings: DecoderOnlySettings, vocabularies: Vocabularies) -> Seq2Seq:
    """Build the model that `settings` describe: the Transformer's decoder without attention to a source.

    For search, sampling and scoring it is a decoder like any other; it is trained on the target side.
    """
    embedding = TokenEmbedding(vocabularies.target, settings.width)
    decoder = TransformerDecoder(settings, embedding, vocabularies.target)
    return Seq2Seq(NoEncoder(), decoder, target_positions=settings.bound)
