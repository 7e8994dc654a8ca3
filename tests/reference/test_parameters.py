"""How many parameters the published systems have, by arithmetic on their papers' sizes."""

import pytest
import torch

from dragoman.layers.expert_settings import ExpertSettings
from dragoman.models.build import build_model
from dragoman.models.bytenet import ByteNetSettings
from dragoman.models.convs2s import ConvolutionalSettings
from dragoman.models.deep_att import DeepAttSettings
from dragoman.models.gnmt import GnmtSettings
from dragoman.models.moe import MoeSettings
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


def test_deep_att_has_the_parameters_of_its_paper_s_sizes() -> None:
    """Zhou et al. 2016: 9 encoder layers in each of two columns, 7 decoder layers, 512 cells, 256-d embeddings.

    W of a layer reads 256 features at the bottom of the encoder and 1024 + 512 everywhere else (the decoder's bottom reads
    256 + 1280); U reads 512; W_p is 5120 x 1280; the output layer reads [h, f], 2560. We know of no printed total: this one is
    the layout's with 30,000 words a side, the two biases of torch's LSTM included (94,208 in all) and no peephole weights.
    """
    words, embedding, hidden, annotation, top = 30_000, 256, 512, 1280, 2560
    with torch.device("meta"):
        model = build_model(DeepAttSettings(), Vocabularies(words, words))

    def lstm(inputs: int) -> int:
        return linear(inputs, 4 * hidden) + linear(hidden, 4 * hidden)

    column = lstm(embedding) + 8 * lstm(2 * hidden + hidden)
    encoder = words * embedding + 2 * column + linear(2 * top, annotation, False)
    attention = linear(hidden, hidden, False) + linear(annotation, hidden, False) + hidden
    decoder = words * embedding + lstm(embedding + annotation) + 6 * lstm(2 * hidden + hidden) + attention
    assert count(model) == encoder + decoder + linear(top, words) == 199_378_736


def test_convs2s_has_the_parameters_of_the_authors_code_at_its_paper_s_sizes() -> None:
    """Gehring et al. 2017, sections 4.2 and 5.1, for English to German; the layout is that of fairseq's `fconv_wmt_en_de`.

    Each side has 9 layers of 512 and 4 of 1024 channels, width 3, and 2 of 2048, width 1; embeddings of 768 and an output of
    512; 1024 positions. A normalised layer has one length more per row. The paper prints no total; with 40,000 pieces a side
    this is 209,569,920. That code has two positions more a side, for padding: 2 * 2 * 768 = 3,072 parameters.
    """
    pieces, embedding, output, positions = 40_000, 768, 512, 1024
    layers = ((512, 3),) * 9 + ((1024, 3),) * 4 + ((2048, 1),) * 2
    with torch.device("meta"):
        settings = ConvolutionalSettings(
            embedding=embedding, output_embedding=output, encoder_layers=layers, decoder_layers=layers
        )
        model = build_model(settings, Vocabularies(pieces, pieces))

    def normalised(inputs: int, outputs: int) -> int:
        return linear(inputs, outputs) + outputs

    convolutions = sum(
        normalised(width * inputs, 2 * channels)
        for inputs, (channels, width) in zip((512, *(channels for channels, _ in layers)), layers, strict=False)
    )
    changes = normalised(512, 1024) + normalised(1024, 2048)
    side = (pieces + positions) * embedding + normalised(embedding, 512) + convolutions + changes
    attention = sum(normalised(channels, embedding) + normalised(embedding, channels) for channels, _ in layers)
    ends = normalised(2048, embedding) + normalised(2048, output) + normalised(output, pieces)
    assert settings.max_positions == positions
    assert count(model) == 2 * side + attention + ends == 209_569_920


def test_bytenet_has_the_parameters_of_its_paper_s_sizes() -> None:
    """Kalchbrenner et al. 2016, section 5: 30 blocks a side, 800 channels, width 3; here with 323 and 296 characters.

    A block maps 1600 channels to 800 to 800 to 1600, with a norm before each map. The paper prints no total; this is the
    layout's, with a 1x1 convolution of 1600 channels and a norm before the output layer.
    """
    source, target, channels = 323, 296, 800
    wide = 2 * channels
    with torch.device("meta"):
        model = build_model(ByteNetSettings(channels=channels, sets=6), Vocabularies(source, target))
    norms = 2 * (wide + channels + channels)
    block = linear(wide, channels) + linear(3 * channels, channels) + linear(channels, wide) + norms
    ends = (source + target) * wide + 2 * wide + linear(wide, wide) + linear(wide, target)
    assert count(model) == 60 * block + ends == 273_405_096


LARGE = ExpertSettings(experts=2048, active=2, groups=32, gate="balanced")
"""The experts of `recipes/moe.yaml`."""


@pytest.mark.parametrize(
    ("experts", "total"), [(LARGE, 8_693_239_616), (MoeSettings().experts, 235_421_504)], ids=["2048", "32"]
)
def test_the_mixture_of_experts_has_the_parameters_of_its_paper_s_sizes(experts: ExpertSettings, total: int) -> None:
    """Shazeer et al. 2017, table 2 and appendix E: 8.7 billion with 2048 experts (this layout: 8.69); we know
    of no total printed for 32.

    An LSTM of n inputs has 4 x 2048 gates that read n inputs and 512 outputs, with torch's two biases, and a projection of
    2048 x 512; n is 512 but for the first of the decoder, which also reads the context. An expert has 2 x 512 x 2048. A gate
    has 512 weights and a threshold for each of its choices: 32, and 32 times 64; or 32. No matrix is shared.
    """
    width, cells, pieces = 512, 2048, 32_000
    with torch.device("meta"):
        model = build_model(MoeSettings(experts=experts), Vocabularies(pieces, pieces, shared=True))

    def lstm(inputs: int) -> int:
        return linear(inputs, 4 * cells) + linear(width, 4 * cells) + linear(cells, width, False)

    choices = experts.experts if experts.groups is None else experts.groups + experts.experts
    mixture = experts.experts * 2 * width * cells + linear(width, choices, False) + choices
    attention = 2 * linear(width, width, False) + width
    embeddings = 2 * pieces * width + linear(width, pieces)
    assert count(model) == 4 * lstm(width) + lstm(2 * width) + 2 * mixture + attention + embeddings == total


def test_the_mixture_of_experts_multiplies_as_often_as_its_paper_says() -> None:
    """Table 2: 85 million multiplications a position, which are those of 5 LSTMs (one of which also reads the context), of 4
    experts in either mixture, of the attention's two matrices and of the output layer.
    """
    width, cells = 512, 2048
    lstms = 5 * (4 * cells * 2 * width + cells * width) + 4 * cells * width
    mixtures, attention = 2 * 4 * 2 * width * cells, 2 * width * width
    assert lstms + mixtures + attention + 32_000 * width == 85_065_728


def test_gnmt_has_281_million_parameters() -> None:
    """Wu et al. 2016 print sizes but no total: 8 and 8 LSTM layers of 1024, 8,000 to 32,000 shared pieces (sections 3, 4, 8).

    The only total printed is Shazeer et al.'s (2017, table 2), 278 million, 1% below this one: which of the pieces and of
    the parts they counted is not said; without the context in the lowest decoder layer it would be 276.7. Of these,
    98.3 million are two embeddings and the output layer of 32,000 pieces, 79.8 the encoder, 100.7 the decoder, 2.1 attention;
    each layer has torch's two biases a gate, 0.1 million together, where equation 11 shows none.
    """
    hidden, pieces = 1024, 32_000
    with torch.device("meta"):
        settings = GnmtSettings()
        model = build_model(settings, Vocabularies(pieces, pieces, shared=True))
    assert (settings.hidden, settings.encoder_layers, settings.decoder_layers) == (hidden, 8, 8)

    def lstm(inputs: int) -> int:
        return linear(inputs, 4 * hidden) + linear(hidden, 4 * hidden)

    encoder = 2 * lstm(hidden) + lstm(2 * hidden) + 6 * lstm(hidden)
    decoder = 8 * lstm(2 * hidden)
    attention = 2 * linear(hidden, hidden, False) + hidden
    embeddings = 2 * pieces * hidden + linear(hidden, pieces)
    assert count(model) == encoder + decoder + attention + embeddings == 280_928_512
