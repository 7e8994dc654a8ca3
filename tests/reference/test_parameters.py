"""How many parameters the published systems have, by arithmetic on their papers' sizes."""

import torch

from dragoman.models.build import build_model
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer import TransformerSettings


def count(model: Seq2Seq) -> int:
    """Parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


def linear(inputs: int, outputs: int, bias: bool = True) -> int:
    """Parameters of W x + b."""
    return inputs * outputs + bias * outputs


def transformer(width: int, inner: int, layers: int, vocabulary: int) -> int:
    """A Transformer with one matrix for both embeddings and the output layer, and sinusoidal positions.

    An attention has four projections, a layer norm two vectors; an encoder layer has 1 attention and 2 norms, a decoder
    layer 2 and 3. Width 512, inner 2048: attention 1,050,624, feed-forward 2,099,712, norm 1,024; encoder layer
    3,152,384, decoder layer 4,204,032; six of each 44,138,496; 37,000 vectors 18,944,000; together 63,082,496.
    """
    attention, norm = 4 * linear(width, width), 2 * width
    feed_forward = linear(width, inner) + linear(inner, width)
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    return layers * (encoder_layer + decoder_layer) + vocabulary * width


def test_transformer_base_has_63_million_parameters() -> None:
    settings = TransformerSettings(norm="post", tied="all")
    assert (settings.width, settings.feed_forward, settings.encoder_layers, settings.heads) == (512, 2048, 6, 8)
    with torch.device("meta"):
        model = build_model(settings, Vocabularies(37_000, 37_000, shared=True))
    assert count(model) == transformer(512, 2048, 6, 37_000) == 63_082_496


def test_transformer_big_has_214_million_parameters() -> None:
    with torch.device("meta"):
        settings = TransformerSettings(norm="post", tied="all", width=1024, feed_forward=4096, heads=16)
        model = build_model(settings, Vocabularies(37_000, 37_000, shared=True))
    assert count(model) == transformer(1024, 4096, 6, 37_000) == 214_245_376


def test_rnnsearch_has_the_parameters_of_its_paper_s_sizes() -> None:
    """Bahdanau et al. 2015, section 4.2 and A.2: 1000 hidden units, 620-d embeddings, 30,000 words, maxout 500."""
    words, embedding, hidden, annotation = 30_000, 620, 1000, 2000
    with torch.device("meta"):
        settings = RecurrentSettings(embedding=embedding, hidden=hidden, encoder_hidden=1000)
        model = build_model(settings, Vocabularies(words, words))

    def gru(inputs: int) -> int:
        return 3 * (linear(inputs, hidden) + linear(hidden, hidden))

    encoder = words * embedding + 2 * gru(embedding)
    attention = linear(hidden, hidden, False) + linear(annotation, hidden, False) + hidden
    decoder = words * embedding + gru(embedding + annotation) + linear(annotation, hidden) + attention
    output = linear(hidden + annotation + embedding, 1000) + linear(500, words)
    assert count(model) == encoder + decoder + output
