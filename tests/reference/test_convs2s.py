"""ConvS2S against plain loops over positions and channels (Gehring et al. 2017, sections 3.1 to 3.4)."""

import math

import torch
from tests.laws.architectures import convolutional
from tests.reference import loops
from torch import Tensor, nn

from dragoman.interfaces import Padded
from dragoman.laws.examples import model_of
from dragoman.layers.convolution import Convolution
from dragoman.models.convs2s import Embedding, GatedConvolution
from dragoman.models.seq2seq import Seq2Seq

SOURCE, TOKENS = [4, 5, 6, 2], [1, 5, 4, 7, 5]


def halved(left: loops.Vector, right: loops.Vector) -> loops.Vector:
    """(x + y) sqrt(0.5)."""
    return [x * math.sqrt(0.5) for x in loops.plus(left, right)]


def matrix(layer: nn.Module) -> loops.Matrix:
    """g v / |v|, row by row."""
    lengths, directions = (tensor.tolist() for tensor in layer.parametrizations.weight.parameters())
    return [
        [length[0] * x / math.sqrt(loops.dot(row, row)) for x in row]
        for length, row in zip(lengths, directions, strict=True)
    ]


def linear(layer: nn.Module, x: loops.Vector) -> loops.Vector:
    """W x + b with normalised weights; x itself where there is no layer."""
    return x if isinstance(layer, nn.Identity) else loops.affine(matrix(layer), x, layer.bias.tolist())


def embed(embedding: Embedding, ids: list[int]) -> loops.Matrix:
    """w_j + p_j."""
    tokens, positions = embedding.tokens.weight.tolist(), embedding.positions.table.weight.tolist()
    return [loops.plus(tokens[token], positions[place]) for place, token in enumerate(ids)]


def convolve(convolution: Convolution, states: loops.Matrix, before: int) -> loops.Matrix:
    """W [x_(j - before); ...; x_(j - before + k - 1)] + b, with zeros outside the sentence."""
    nothing = [0.0] * len(states[0])
    width, count = convolution.width, len(states)
    outputs = []
    for place in range(count):
        seen = range(place - before, place - before + width)
        beside = [x for j in seen for x in (states[j] if 0 <= j < count else nothing)]
        outputs.append(linear(convolution.linear, beside))
    return outputs


def gate(both: loops.Vector) -> loops.Vector:
    """A * sigmoid(B)."""
    half = len(both) // 2
    return loops.multiplied(both[:half], loops.sigmoid(both[half:]))


def block(layer: GatedConvolution, states: loops.Matrix, before: int) -> loops.Matrix:
    """v(W [...] + b)."""
    return [gate(both) for both in convolve(layer.convolution, states, before)]


def encode(model: Seq2Seq, ids: list[int]) -> tuple[loops.Matrix, loops.Matrix]:
    """Keys z_j and values (z_j + e_j) sqrt(0.5)."""
    encoder = model.encoder
    embedded = embed(encoder.embedding, ids)
    states = [linear(encoder.enter, x) for x in embedded]
    for layer in encoder.layers:
        gated = block(layer, states, (layer.convolution.width - 1) // 2)
        states = [halved(new, linear(layer.around, old)) for new, old in zip(gated, states, strict=True)]
    keys = [linear(encoder.leave, x) for x in states]
    return keys, [halved(z, e) for z, e in zip(keys, embedded, strict=True)]


def decode(model: Seq2Seq, keys: loops.Matrix, values: loops.Matrix, ids: list[int]) -> tuple[loops.Matrix, list]:
    """Logits of every position, and the weights of every layer."""
    decoder = model.decoder
    embedded, all_weights = embed(decoder.embedding, ids), []
    states = [linear(decoder.enter, x) for x in embedded]
    for layer in decoder.layers:
        gated = block(layer.gated, states, layer.gated.convolution.width - 1)
        new_states, layer_weights = [], []
        for h, g, old in zip(gated, embedded, states, strict=True):
            query = halved(linear(layer.query, h), g)
            weights, context = loops.attention(loops.dot, query, keys, values, [True] * len(keys))
            scaled = [c * len(keys) * math.sqrt(1 / len(keys)) for c in context]
            read = halved(linear(layer.context, scaled), h)
            new_states.append(halved(read, linear(layer.gated.around, old)))
            layer_weights.append(weights)
        states = new_states
        all_weights.append(layer_weights)
    return [linear(decoder.head, linear(decoder.leave, x)) for x in states], all_weights


def close(actual: Tensor, expected: loops.Matrix) -> None:
    """Equal within the rounding of float32."""
    torch.testing.assert_close(actual, torch.tensor(expected), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_convs2s_is_its_equations() -> None:
    model = model_of(convolutional())
    for row, ids in enumerate((SOURCE, SOURCE[1:])):
        padded = torch.tensor([SOURCE, [*SOURCE[1:], 0]])
        sentences = Padded(padded, padded > 0)
        keys, values = encode(model, ids)
        states = model.encoder(sentences).states[row, : len(ids)]
        close(states[:, :6], keys)
        close(states[:, 6:], values)
        output = model(sentences, torch.tensor([TOKENS, TOKENS]), need_weights=True)
        logits, weights = decode(model, keys, values, TOKENS)
        close(output.logits[row], logits)
        for layer, expected in enumerate(weights):
            close(output.attention[row, layer, 0, :, : len(ids)], expected)
