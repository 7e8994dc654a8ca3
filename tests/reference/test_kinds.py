"""Local, hard, marginal and posterior attention against plain loops, and REINFORCE against enumeration."""

import math
from collections.abc import Iterator
from itertools import product
from unittest.mock import patch

import pytest
import torch
from tests.laws.architectures import recurrent, transformer
from tests.reference import loops
from tests.reference.test_recurrent import SOURCE, TOKENS, begin, model_of, run
from torch import Tensor

from dragoman.attention.settings import HardSettings, WindowSettings
from dragoman.interfaces import Batch
from dragoman.laws.examples import VOCABULARY, batch
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.training.objectives import translation_loss

LENGTH = 4


def test_local_p_weights_fall_off_around_the_predicted_position() -> None:
    """Luong et al. 2015, equations 9 and 10: p = S sigmoid(v^T tanh(W h)); align(h, h_s) exp(-(s - p)^2 / (2 (D/2)^2))."""
    reach = 1
    model = model_of(decoder="luong", score="general", window=WindowSettings(kind="predictive", reach=reach))
    output = model(SOURCE, TOKENS, need_weights=True)
    decoder, (encoded, state) = model.decoder, begin(model)
    window = decoder.attention.lookup.window
    keys = encoded.states[0].tolist()
    equation = loops.general(decoder.attention.score.key.weight.tolist())
    for position, token in enumerate(TOKENS[0].tolist()):
        state = run(decoder.stack, decoder.embedding(torch.tensor([[token]]))[0, 0].tolist(), state)
        hidden = loops.tanh(loops.times(window.hidden.weight.tolist(), state[0]))
        centre = LENGTH * loops.sigmoid([loops.dot(window.centre.weight[0].tolist(), hidden)])[0]
        seen = [abs(j - centre) <= reach for j in range(LENGTH)]
        weights, _ = loops.attention(equation, state[0], keys, keys, seen)
        falling = [w * math.exp(-((j - centre) ** 2) / (2 * (reach / 2) ** 2)) for j, w in enumerate(weights)]
        torch.testing.assert_close(output.attention[0, 0, 0, position], torch.tensor(falling), rtol=1e-4, atol=1e-5)


def test_local_m_sees_a_window_around_its_own_position() -> None:
    model = model_of(decoder="luong", score="general", window=WindowSettings(kind="monotonic", reach=1))
    weights = model(SOURCE, torch.tensor([[1, 5, 4, 6, 4, 5]]), need_weights=True).attention[0, 0, 0]
    seen = [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3], [2, 3], [2, 3]]
    assert [row.nonzero().flatten().tolist() for row in weights] == seen


@pytest.mark.parametrize("settings", [{"decoder": "luong", "score": "general"}, {"decoder": "bahdanau"}])
def test_hard_attention_takes_the_best_position_at_inference(settings: dict[str, str]) -> None:
    soft, hard = (model_of(**settings, hard=hard) for hard in (None, HardSettings(training="gumbel")))
    first = TOKENS[:, :1]
    weights = soft(SOURCE, first, need_weights=True).attention[0, 0, 0, 0]
    chosen = hard(SOURCE, first, need_weights=True).attention[0, 0, 0, 0]
    assert chosen.tolist() == [float(j == int(weights.argmax())) for j in range(LENGTH)]


WINDOW = WindowSettings(kind="predictive", reach=2)


@pytest.mark.parametrize(("decoder", "window"), [("luong", None), ("bahdanau", None), ("luong", WINDOW)])
def test_marginal_adds_up_the_probabilities_from_each_position(decoder: str, window: WindowSettings | None) -> None:
    """P(y) = sum_a P(a) P(y | a), the output layer reading each position as if all weight were there. P(a) is proportional to
    the weights, whose sum is below 1 after the Gaussian of local-p."""
    model = model_of(decoder=decoder, marginal=True, window=window)
    output = model(SOURCE, TOKENS[:, :1], need_weights=True)
    shares = output.attention[0, 0, 0, 0]
    weights = (shares / shares.sum()).tolist()
    expected = torch.zeros(8)
    for position, weight in enumerate(weights):
        expected += weight * _from_position(model, position)
    torch.testing.assert_close(output.logits[0, 0].exp(), expected, rtol=1e-4, atol=1e-6)


def _from_position(model: Seq2Seq, position: int) -> Tensor:
    """P(y | a) of the first token, by loops over the decoder's own step."""
    decoder, (encoded, state) = model.decoder, begin(model)
    keys = encoded.states[0].tolist()
    embedded = decoder.embedding(torch.tensor([[1]]))[0, 0].tolist()
    equation = decoder.attention.score
    additive = loops.additive(
        equation.query.weight.tolist(), equation.key.weight.tolist(), equation.energy.weight[0].tolist()
    )
    if hasattr(decoder, "deep"):
        _, context = loops.attention(additive, state[0], keys, keys, [True] * LENGTH)
        state = run(decoder.stack, [*embedded, *context], state)
        pairs = loops.affine(
            decoder.deep.weight.tolist(), [*state[0], *keys[position], *embedded], decoder.deep.bias.tolist()
        )
        features = [max(pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)]
    else:
        state = run(decoder.stack, embedded, state)
        features = loops.tanh(loops.times(decoder.combine.weight.tolist(), [*keys[position], *state[0]]))
    output = decoder.head.output
    return torch.tensor(loops.softmax(loops.affine(output.weight.tolist(), features, output.bias.tolist())))


def test_posterior_attention_feeds_where_the_token_came_from() -> None:
    """Shankar and Sarawagi 2019: P(a | y) is proportional to P(a) P(y | a); its context enters the next step."""
    model = model_of(decoder="posterior")
    output = model(SOURCE, TOKENS, need_weights=True)
    decoder, (encoded, state) = model.decoder, begin(model)
    keys = encoded.states[0].tolist()
    score, head = decoder.attention.score, decoder.head.output
    equation = loops.additive(score.query.weight.tolist(), score.key.weight.tolist(), score.energy.weight[0].tolist())
    fed = [0.0] * len(keys[0])
    for position, token in enumerate(TOKENS[0].tolist()):
        state = run(decoder.stack, [*decoder.embedding(torch.tensor([[token]]))[0, 0].tolist(), *fed], state)
        prior, _ = loops.attention(equation, state[0], keys, keys, [True] * LENGTH)
        given = []
        for key in keys:
            features = loops.tanh(loops.times(decoder.combine.weight.tolist(), [*key, *state[0]]))
            given.append(loops.softmax(loops.affine(head.weight.tolist(), features, head.bias.tolist())))
        expected = [sum(p * row[y] for p, row in zip(prior, given, strict=True)) for y in range(8)]
        torch.testing.assert_close(output.logits[0, position].exp(), torch.tensor(expected), rtol=1e-4, atol=1e-6)
        if position + 1 < TOKENS.shape[1]:
            written = int(TOKENS[0, position + 1])
            joint = [p * row[written] for p, row in zip(prior, given, strict=True)]
            fed = [
                sum(p * key[f] for p, key in zip(joint, keys, strict=True)) / sum(joint) for f in range(len(keys[0]))
            ]


REINFORCED = HardSettings(training="reinforce", soft_share=0, entropy_bonus=0, reward_scale=1)
TINY = {
    "luong": recurrent(decoder="luong", hard=REINFORCED, dropout=0.0),
    "bahdanau": recurrent(hard=REINFORCED, dropout=0.0),
    "luong, input feeding": recurrent(decoder="luong", hard=REINFORCED, input_feeding=True, dropout=0.0),
    "luong, local-p": recurrent(decoder="luong", hard=REINFORCED, window=WINDOW, dropout=0.0),
    "transformer": transformer(hard=REINFORCED, dropout=0.0, decoder_layers=2, heads=1),
}


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("baseline", [0.0, 2.5])
def test_the_gradient_of_reinforce_is_unbiased(name: str, baseline: float) -> None:
    """Its expectation, over every choice of positions, is the gradient of the expected cost, enumerated."""
    torch.manual_seed(4)
    model = build_model(TINY[name], Vocabularies(VOCABULARY, VOCABULARY, shared=True)).double().train()
    pair = batch([2], [3])
    count = 4 if name == "transformer" else 2
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    expected_cost = torch.zeros((), dtype=torch.float64)
    estimates = [torch.zeros_like(parameter) for parameter in parameters]
    total = 0.0
    for positions in product(range(2), repeat=count):
        cost, log_prob, estimate = _forced(model, pair, list(positions), baseline)
        probability = log_prob.exp()
        total += probability.item()
        expected_cost = expected_cost + probability * cost
        gradients = torch.autograd.grad(estimate, parameters, allow_unused=True)
        for whole, gradient in zip(estimates, gradients, strict=True):
            whole += 0 if gradient is None else probability.item() * gradient
    assert total == pytest.approx(1)
    enumerated = torch.autograd.grad(expected_cost, parameters, allow_unused=True)
    assert sum(float(gradient.abs().sum()) for gradient in enumerated if gradient is not None) > 0.1
    for estimated, exact in zip(estimates, enumerated, strict=True):
        torch.testing.assert_close(estimated, torch.zeros_like(estimated) if exact is None else exact)


def _forced(model: Seq2Seq, pair: Batch, positions: list[int], baseline: float) -> tuple[Tensor, Tensor, Tensor]:
    """The cost of a pair, the log-probability of the positions that it is made to draw, and the loss of training."""
    assert model.reinforcement is not None
    model.reinforcement.baseline.fill_(baseline)
    with patch.object(torch, "multinomial", _draws(iter(positions))):
        output = model(pair.source, pair.inputs)
    assert output.choice is not None
    cost, _ = output.head.loss(output.features[pair.real], pair.labels[pair.real], 0.0)
    with patch.object(torch, "multinomial", _draws(iter(positions))):
        estimate = translation_loss(model, pair).total
    return cost, output.choice.log_prob.sum(), estimate


def _draws(positions: Iterator[int]) -> object:
    """Stand in for torch.multinomial, with positions decided beforehand."""
    return lambda probabilities, count: torch.tensor([[next(positions)] for _ in probabilities])
