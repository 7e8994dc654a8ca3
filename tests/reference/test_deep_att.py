"""Deep-Att against the equations of Zhou et al. 2016, section 3.1, as plain loops."""

import torch
from tests.reference import loops
from tests.reference.test_recurrent import large
from torch import nn

from dragoman.interfaces import Padded
from dragoman.models.deep_att import DeepAttSettings, FastForwardStack, build_deep_att
from dragoman.models.seq2seq import Seq2Seq, Vocabularies

HIDDEN = 2
SOURCE = Padded(torch.tensor([[4, 5, 6, 2], [6, 2, 0, 0]]), torch.tensor([[True] * 4, [True, True, False, False]]))
TOKENS = torch.tensor([[1, 5, 4], [1, 4, 4]])


def lstm_r(f: loops.Vector, h: loops.Vector, c: loops.Vector, stack: nn.LSTM) -> tuple[loops.Vector, loops.Vector]:
    """LSTM_r: the gates are f + U h, in the order i, f, g, o."""
    before = loops.plus(f, loops.affine(stack.weight_hh_l0.tolist(), h, stack.bias_hh_l0.tolist()))
    enter, forget, candidate, leave = (before[HIDDEN * gate : HIDDEN * (gate + 1)] for gate in range(4))
    kept = loops.multiplied(loops.sigmoid(forget), c)
    cell = loops.plus(kept, loops.multiplied(loops.sigmoid(enter), loops.tanh(candidate)))
    return loops.multiplied(loops.sigmoid(leave), loops.tanh(cell)), cell


def feed_forward(below: loops.Vector, stack: nn.LSTM) -> loops.Vector:
    """f = W [what comes from below]."""
    return loops.affine(stack.weight_ih_l0.tolist(), below, stack.bias_ih_l0.tolist())


def half(f: loops.Vector) -> loops.Vector:
    """The first half of f."""
    return f[: len(f) // 2]


def column(column: FastForwardStack, embedded: loops.Matrix, backward: bool) -> loops.Matrix:
    """[h, f] of the top at each position; every second layer reads from the other end."""
    below, result = embedded, []
    for number in range(len(column.layers)):
        stack = column.layer(number).stack
        order = list(range(len(embedded)))
        order = order[::-1] if backward ^ (number % 2 == 1) else order
        f = [feed_forward(x, stack) for x in below]
        states = [[0.0]] * len(embedded)
        h = c = [0.0] * HIDDEN
        for position in order:
            h, c = lstm_r(f[position], h, c, stack)
            states[position] = h
        below = [[*half(one), *state] for one, state in zip(f, states, strict=True)]
        result = [[*state, *one] for one, state in zip(f, states, strict=True)]
    return result


def model_of() -> Seq2Seq:
    """A small model with large weights."""
    settings = DeepAttSettings(embedding=3, hidden=HIDDEN, encoder_layers=3, decoder_layers=2, dropout=0.0)
    return large(build_deep_att(settings, Vocabularies(8, 8)))


def test_annotations_are_the_tops_of_two_interleaved_columns_projected() -> None:
    encoder = model_of().encoder
    states = encoder(SOURCE).states
    for row, length in enumerate((4, 2)):
        embedded = encoder.embedding(SOURCE.ids)[row, :length].tolist()
        forward, backward = encoder.columns
        tops = zip(column(forward, embedded, False), column(backward, embedded, True), strict=True)
        for position, (left, right) in enumerate(tops):
            expected = loops.times(encoder.project.weight.tolist(), [*left, *right])
            torch.testing.assert_close(states[row, position], torch.tensor(expected), rtol=1e-4, atol=1e-5)


def test_the_decoder_attends_with_the_bottom_state_before_and_predicts_from_the_top() -> None:
    model = model_of()
    decoder, encoded = model.decoder, model.encoder(SOURCE)
    output, state = decoder(TOKENS, decoder.start(encoded), need_weights=True)
    score = loops.additive(*(getattr(decoder.attention.score, name).weight.tolist() for name in ("query", "key")),
                           decoder.attention.score.energy.weight[0].tolist())  # fmt: skip
    stacks = [decoder.stack.layer(number).stack for number in range(2)]
    for row in range(2):
        keys, real = encoded.states[row].tolist(), SOURCE.mask[row].tolist()
        past = [([0.0] * HIDDEN, [0.0] * HIDDEN) for _ in stacks]
        for position, word in enumerate(decoder.embedding(TOKENS)[row].tolist()):
            weights, context = loops.attention(score, past[0][0], keys, keys, real)
            f = feed_forward([*word, *context], stacks[0])
            past[0] = lstm_r(f, *past[0], stacks[0])
            f = feed_forward([*half(f), *past[0][0]], stacks[1])
            past[1] = lstm_r(f, *past[1], stacks[1])
            logits = loops.affine(decoder.head.weight.tolist(), [*past[1][0], *f], decoder.head.bias.tolist())
            torch.testing.assert_close(output.logits[row, position], torch.tensor(logits), rtol=1e-4, atol=1e-5)
            assert output.attention is not None
            torch.testing.assert_close(
                output.attention[row, 0, 0, position], torch.tensor(weights), rtol=1e-4, atol=1e-5
            )
        for part, name in enumerate("hc"):
            expected = torch.tensor([layer[part] for layer in past])
            torch.testing.assert_close(state.past.hidden[part][row], expected, rtol=1e-4, atol=1e-5, msg=name)
