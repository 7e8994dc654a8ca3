"""GNMT against its equations as plain loops, and its residual and feeding patterns probed by perturbation."""

from dataclasses import replace

import pytest
import torch
from tests.reference import loops
from tests.reference.test_recurrent import SOURCE, equal, large, run
from torch import Tensor, nn

from dragoman.models.gnmt import GnmtSettings, build_gnmt
from dragoman.models.seq2seq import Seq2Seq, Vocabularies

HIDDEN = 3
LAYERS = 4
TOKENS = torch.tensor([[1, 5, 4, 6]])
FIRST_RESIDUAL = 2
"""The third layer from the bottom (Wu et al. 2016, figure 1)."""


def model_of(layers: int = LAYERS) -> Seq2Seq:
    """A small GNMT with large weights; the lowest layers of models of different depths are equal."""
    settings = GnmtSettings(encoder_layers=layers, decoder_layers=layers, hidden=HIDDEN, dropout=0.0)
    model = large(build_gnmt(settings, Vocabularies(8, 8)))
    if layers != LAYERS:
        weights = model_of().state_dict()
        model.load_state_dict({name: weights[name] for name in model.state_dict()})
    return model


def one_direction(stack: nn.LSTM, inputs: loops.Matrix, suffix: str) -> loops.Matrix:
    """One direction of a layer of torch's LSTM over a sentence, by the loops."""
    weights, biases = {}, {}
    for origin in "ih":
        matrices = getattr(stack, f"weight_{origin}h_l0{suffix}").split(HIDDEN)
        vectors = getattr(stack, f"bias_{origin}h_l0{suffix}").split(HIDDEN)
        for gate, matrix, vector in zip("ifgo", matrices, vectors, strict=True):
            weights[origin + gate], biases[origin + gate] = matrix.tolist(), vector.tolist()
    state, outputs = ([0.0] * HIDDEN, [0.0] * HIDDEN), []
    for x in inputs:
        state = loops.lstm(x, *state, weights=weights, biases=biases)
        outputs.append(state[0])
    return outputs


def test_the_encoder_reads_both_ways_once_then_adds_from_the_third_layer_on() -> None:
    """Sections 3.1, equation 6, and 3.2: x^1 = [forward; backward]; x^2 = LSTM(x^1); x^i = LSTM_i(x^{i-1}) + x^{i-1}."""
    encoder = model_of().encoder
    embedded = [encoder.embedding(torch.tensor([[token]]))[0, 0].tolist() for token in SOURCE.ids[0].tolist()]
    forward = one_direction(encoder.bottom.stack, embedded, "")
    backward = one_direction(encoder.bottom.stack, embedded[::-1], "_reverse")[::-1]
    below = [[*left, *right] for left, right in zip(forward, backward, strict=True)]
    for number, layer in enumerate(encoder.layers, 1):
        above = one_direction(layer.stack, below, "")
        added = number >= FIRST_RESIDUAL
        below = [loops.plus(a, b) for a, b in zip(above, below, strict=True)] if added else above
    torch.testing.assert_close(encoder(SOURCE).states[0], torch.tensor(below), rtol=1e-4, atol=1e-5)


def test_the_decoder_asks_with_its_lowest_layer_and_feeds_every_layer() -> None:
    """Section 3: s_t = v^T tanh(W y_{i-1} + U x_t), a_i = sum_t p_t x_t, and x^k_i = LSTM_k([x^{k-1}_i; a_i]) + x^{k-1}_i."""
    model = model_of()
    decoder, keys = model.decoder, model.encoder(SOURCE).states[0].tolist()
    output = model(SOURCE, TOKENS, need_weights=True)
    score = decoder.attention.score
    equation = loops.additive(score.query.weight.tolist(), score.key.weight.tolist(), score.energy.weight[0].tolist())
    layers = [decoder.bottom, *decoder.layers]
    states = [[[0.0] * HIDDEN, [0.0] * HIDDEN] for _ in layers]
    for position, token in enumerate(TOKENS[0].tolist()):
        weights, context = loops.attention(equation, states[0][0], keys, keys, [True] * 4)
        below = decoder.embedding(torch.tensor([[token]]))[0, 0].tolist()
        for number, layer in enumerate(layers):
            states[number] = run(layer, [*below, *context], states[number])
            added = number >= FIRST_RESIDUAL
            below = loops.plus(states[number][0], below) if added else states[number][0]
        equal(output, position, below, weights)


def silence(layers: list[nn.Module]) -> None:
    """Let LSTM layers give nothing but zeros, whatever they read."""
    with torch.no_grad():
        for layer in layers:
            for parameter in layer.parameters():
                parameter.zero_()


@pytest.mark.parametrize("first", range(1, LAYERS))
@torch.no_grad()
def test_silent_layers_pass_on_what_comes_from_below_from_the_third_on(first: int) -> None:
    """A residual layer that adds nothing gives what a shallower model gives, without the context; another gives zeros."""
    model = model_of()
    silence([*model.encoder.layers[first - 1 :]])
    states = model.encoder(SOURCE).states
    if first < FIRST_RESIDUAL:
        assert (states == 0).all()
    else:
        torch.testing.assert_close(states, model_of(first).encoder(SOURCE).states)
    model = model_of()
    silence([*model.decoder.layers[first - 1 :]])
    features = _features(model)
    if first < FIRST_RESIDUAL:
        assert (features == 0).all()
    else:
        shallow = model_of(first)
        shallow.encoder = model.encoder
        torch.testing.assert_close(features, _features(shallow))


@pytest.mark.parametrize("fed", [*range(LAYERS), None])
@torch.no_grad()
def test_the_context_enters_every_layer(fed: int | None) -> None:
    """With the context cut off from all layers but one, the source still matters, through that one; without any, it does not."""
    model = model_of()
    for number, layer in enumerate([model.decoder.bottom, *model.decoder.layers]):
        if number != fed:
            layer.stack.weight_ih_l0[:, HIDDEN:] = 0
    other = replace(SOURCE, ids=torch.tensor([[6, 4, 7, 2]]))
    same = torch.allclose(_features(model), model(other, TOKENS).features)
    assert same == (fed is None)


@torch.no_grad()
def test_the_query_is_the_lowest_layers_output_of_the_step_before() -> None:
    """A token leaves the weights of its own step as they were and changes those of the next; higher layers have no part."""
    model = model_of()
    weights = _weights(model, TOKENS)
    for position in range(TOKENS.shape[1] - 1):
        tokens = TOKENS.clone()
        tokens[:, position] = 7
        changed = _weights(model, tokens)
        torch.testing.assert_close(changed[: position + 1], weights[: position + 1])
        assert not torch.allclose(changed[position + 1], weights[position + 1])
    silence([*model.decoder.layers])
    torch.testing.assert_close(_weights(model, TOKENS), weights)


def _features(model: Seq2Seq) -> Tensor:
    """What the output layer reads."""
    return model(SOURCE, TOKENS).features


def _weights(model: Seq2Seq, tokens: Tensor) -> Tensor:
    """The weights of each target position over the source."""
    return model(SOURCE, tokens, need_weights=True).attention[0, 0, 0]
