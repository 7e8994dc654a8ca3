"""Recurrent cells and decoder steps against their papers' equations."""

import pytest
import torch
from tests.layers.test_recurrent import zero_state
from tests.reference import loops
from torch import Tensor, nn

from dragoman.interfaces import DecoderOutput, Encoded, Padded
from dragoman.layers.recurrent import RecurrentStack
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies

GATES = {"gru": "rzn", "lstm": "ifgo"}
SOURCE = Padded(torch.tensor([[4, 5, 6, 2]]), torch.ones(1, 4, dtype=torch.bool))
TOKENS = torch.tensor([[1, 5, 4]])


def parameters(stack: RecurrentStack) -> tuple[dict[str, loops.Matrix], dict[str, loops.Vector]]:
    """Weights and biases of the first layer by gate: "ir" reads the input into gate r, "hr" the state."""
    weights, biases = {}, {}
    for origin in "ih":
        matrices = getattr(stack.stack, f"weight_{origin}h_l0").split(stack.hidden)
        vectors = getattr(stack.stack, f"bias_{origin}h_l0").split(stack.hidden)
        for gate, matrix, vector in zip(GATES[stack.cell], matrices, vectors, strict=True):
            weights[origin + gate], biases[origin + gate] = matrix.tolist(), vector.tolist()
    return weights, biases


def run(stack: RecurrentStack, x: loops.Vector, state: list[loops.Vector]) -> list[loops.Vector]:
    """One step by the loops; the state is [h] or [h, c]."""
    weights, biases = parameters(stack)
    if stack.cell == "gru":
        return [loops.gru(x, state[0], weights=weights, biases=biases)]
    return list(loops.lstm(x, state[0], state[1], weights=weights, biases=biases))


def large(model: nn.Module) -> nn.Module:
    """Fill every parameter with large random numbers."""
    torch.manual_seed(3)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.7)
    return model.eval()


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_cell_is_its_equations(cell: str) -> None:
    stack = RecurrentStack(cell, 3, 4, layers=1, dropout=0.0)
    large(stack)
    inputs = torch.randn(1, 5, 3)
    outputs, _ = stack(inputs, zero_state(stack, inputs))
    state = [[0.0] * 4] * len(zero_state(stack, inputs))
    for position in range(5):
        state = run(stack, inputs[0, position].tolist(), state)
        torch.testing.assert_close(outputs[0, position], torch.tensor(state[0]), rtol=1e-5, atol=1e-6)


def model_of(**settings: object) -> Seq2Seq:
    """A small recurrent model with large weights."""
    given = {"embedding": 3, "hidden": 4, "encoder_hidden": 3, "dropout": 0.0, **settings}
    return large(build_rnn(RecurrentSettings(**given), Vocabularies(8, 8)))


def begin(model: Seq2Seq) -> tuple[Encoded, list[loops.Vector]]:
    """The encoded source, and the decoder's first state as lists."""
    encoded = model.encoder(SOURCE)
    return encoded, [part[0, 0].tolist() for part in model.decoder.start(encoded).past.hidden]


def equal(output: DecoderOutput, position: int, features: loops.Vector, weights: loops.Vector) -> None:
    """Compare one position of a decoder's output with the loops."""
    head = output.head
    logits = loops.affine(head.weight.tolist(), features, head.bias.tolist())
    torch.testing.assert_close(output.logits[0, position], torch.tensor(logits), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(output.attention[0, 0, 0, position], torch.tensor(weights), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("deep", [True, False])
def test_bahdanau_attends_with_the_state_before_then_steps(deep: bool) -> None:
    """Section 3.1: alpha_ij from s_{i-1} and h_j; c_i = sum alpha_ij h_j; s_i = f(s_{i-1}, y_{i-1}, c_i)."""
    model = model_of(deep_output=deep)
    output = model(SOURCE, TOKENS, need_weights=True)
    decoder, (encoded, state) = model.decoder, begin(model)
    score = decoder.attention.score
    equation = loops.additive(score.query.weight.tolist(), score.key.weight.tolist(), score.energy.weight[0].tolist())
    annotations = encoded.states[0].tolist()
    for position, token in enumerate(TOKENS[0].tolist()):
        embedded = decoder.embedding(torch.tensor([[token]]))[0, 0].tolist()
        weights, context = loops.attention(equation, state[0], annotations, annotations, [True] * 4)
        state = run(decoder.stack, [*embedded, *context], state)
        features = state[0]
        if deep:
            pairs = loops.affine(
                decoder.deep.weight.tolist(), [*state[0], *context, *embedded], decoder.deep.bias.tolist()
            )
            features = [max(pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)]
        equal(output, position, features, weights)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("feeding", [True, False])
def test_luong_steps_then_takes_his_four_steps(cell: str, feeding: bool) -> None:
    """Section 3.1 and 3.3: h_t; score and softmax; context c_t; a_t = tanh(W_c [c_t; h_t]), fed into the next step."""
    model = model_of(decoder="luong", cell=cell, score="general", input_feeding=feeding)
    output = model(SOURCE, TOKENS, need_weights=True)
    decoder, (encoded, state) = model.decoder, begin(model)
    equation = loops.general(decoder.attention.score.key.weight.tolist())
    annotations = encoded.states[0].tolist()
    vector = [0.0] * 4
    for position, token in enumerate(TOKENS[0].tolist()):
        embedded = decoder.embedding(torch.tensor([[token]]))[0, 0].tolist()
        state = run(decoder.stack, [*embedded, *vector] if feeding else embedded, state)
        weights, context = loops.attention(equation, state[0], annotations, annotations, [True] * 4)
        vector = loops.tanh(loops.times(decoder.combine.weight.tolist(), [*context, *state[0]]))
        equal(output, position, vector, weights)


def test_a_plain_decoder_reads_the_last_state_at_every_step() -> None:
    """Cho et al. 2014, equation 2: h_t = f(h_{t-1}, y_{t-1}, c) with one fixed context c."""
    model = model_of(decoder="plain")
    logits = model(SOURCE, TOKENS).logits
    decoder, (encoded, state) = model.decoder, begin(model)
    context = encoded.final[0][0, -1].tolist()
    for position, token in enumerate(TOKENS[0].tolist()):
        state = run(decoder.stack, [*decoder.embedding(torch.tensor([[token]]))[0, 0].tolist(), *context], state)
        expected = loops.affine(decoder.head.weight.tolist(), state[0], decoder.head.bias.tolist())
        torch.testing.assert_close(logits[0, position], torch.tensor(expected), rtol=1e-4, atol=1e-5)


def test_the_first_state_is_a_tanh_of_the_encoder_s_last() -> None:
    model = model_of()
    encoded, state = begin(model)
    last: Tensor = encoded.final[0][0, 0]
    assert torch.equal(last[:3], encoded.states[0, -1, :3]), "the forward direction ends at the last token"
    assert torch.equal(last[3:], encoded.states[0, 0, 3:]), "the backward direction ends at the first token"
    layer = model.decoder.bridge.maps[0]
    expected = loops.tanh(loops.affine(layer.weight.tolist(), last.tolist(), layer.bias.tolist()))
    torch.testing.assert_close(torch.tensor(state[0]), torch.tensor(expected), rtol=1e-5, atol=1e-6)
