"""The mixture of experts against Shazeer et al. 2017, equation by equation, in plain loops."""

import math
from statistics import NormalDist
from typing import Any

import pytest
import torch
from tests.reference import loops
from torch import nn

from dragoman.layers.expert_settings import ExpertSettings
from dragoman.layers.experts import LEAST_NOISE, BalancedGate, Experts, NoisyGate, TwoLevelGate
from dragoman.layers.projected import ProjectedLstm

WIDTH, EXPERTS, TOKENS = 5, 4, 12
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
Gates = list[dict[int, float]]
"""The gates of each token that are not 0, by expert."""


def made(**settings: Any) -> Experts:
    """Experts with weights that make a difference."""
    torch.manual_seed(3)
    experts = Experts(WIDTH, 6, ExpertSettings(experts=EXPERTS, **settings))
    for parameter in experts.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.7)
    return experts


def states() -> torch.Tensor:
    """Tokens to be read."""
    return torch.randn(1, TOKENS, WIDTH, generator=torch.Generator().manual_seed(4))


def softplus(number: float) -> float:
    """log(1 + e^x)."""
    return math.log1p(math.exp(number))


def variation(numbers: loops.Vector) -> float:
    """The square of the coefficient of variation."""
    mean = sum(numbers) / len(numbers)
    return sum((number - mean) ** 2 for number in numbers) / len(numbers) / mean**2


def output(experts: Experts, x: loops.Vector, gates: dict[int, float]) -> loops.Vector:
    """y = sum_i G(x)_i E_i(x), with E_i(x) = max(0, x W_1) W_2 (equation 1)."""
    y = [0.0] * WIDTH
    for expert, gate in gates.items():
        inner = [max(0.0, number) for number in loops.times(experts.inner[expert].T.tolist(), x)]
        said = loops.times(experts.outer[expert].T.tolist(), inner)
        y = [old + gate * new for old, new in zip(y, said, strict=True)]
    return y


def top_k(scores: loops.Vector, k: int) -> dict[int, float]:
    """Softmax(KeepTopK(H, k)) (equations 3 and 5)."""
    best = sorted(range(len(scores)), key=lambda index: -scores[index])[:k]
    return dict(zip(best, loops.softmax([scores[index] for index in best]), strict=True))


def noisy(gate: NoisyGate, tokens: loops.Matrix, noise: loops.Matrix, k: int) -> tuple[Gates, loops.Vector]:
    """Gates, and Load(X)_i = sum_x Phi(((x W_g)_i - kth_excluding(H, k, i)) / deviation_i) (equations 4 and 8 to 10)."""
    gates, load = [], [0.0] * gate.choose.out_features
    for x, drawn in zip(tokens, noise, strict=True):
        clean = loops.times(gate.choose.weight.tolist(), x)
        deviation = [softplus(number) + LEAST_NOISE for number in loops.times(gate.noise.weight.tolist(), x)]
        scores = [c + n * d for c, n, d in zip(clean, drawn, deviation, strict=True)]
        gates.append(top_k(scores, k))
        for i in range(len(load)):
            others = sorted((score for j, score in enumerate(scores) if j != i), reverse=True)
            load[i] += NormalDist().cdf((clean[i] - others[k - 1]) / deviation[i])
    return gates, load


def balanced(gate: BalancedGate, tokens: loops.Matrix, k: int) -> tuple[Gates, float]:
    """Gates by the batchwise mask (equations 15, 16 and 18), and the loss of the thresholds (equation 20) over |X| n."""
    shares = [loops.softmax(loops.times(gate.choose.weight.tolist(), x)) for x in tokens]
    choices, threshold = gate.choose.out_features, gate.threshold.tolist()
    takes = [
        sorted(range(len(tokens)), key=lambda j, i=i: -shares[j][i])[: round(k * len(tokens) / choices)]
        for i in range(choices)
    ]
    gates: Gates = []
    loss = 0.0
    for j, row in enumerate(shares):
        kept = {i: row[i] for i in range(choices) if j in takes[i]}
        gates.append({i: share / sum(kept.values()) for i, share in kept.items()})
        loss += sum(((row[i] > threshold[i]) - (i in kept)) * (row[i] - threshold[i]) for i in range(choices))
    return gates, loss / len(tokens) / choices


def importance(gates: Gates, count: int) -> loops.Vector:
    """Importance(X)_i = sum_x G(x)_i (equation 6)."""
    return [sum(row.get(i, 0.0) for row in gates) for i in range(count)]


def check(experts: Experts, gates: Gates, penalty: float, seed: int = 5) -> None:
    """Compare what experts give while training with loops that used the same noise."""
    torch.manual_seed(seed)
    mixed = experts(states())
    expected = [output(experts, x, row) for x, row in zip(states()[0].tolist(), gates, strict=True)]
    torch.testing.assert_close(mixed.states[0], torch.tensor(expected), **CLOSE)
    assert mixed.penalty is not None
    assert float(mixed.penalty.detach()) == pytest.approx(penalty, rel=1e-4)


def noise(rows: int, choices: int) -> loops.Matrix:
    """What a gate draws next."""
    return torch.randn(rows, choices).tolist()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_noisy_gates_and_their_losses_are_the_equations(k: int) -> None:
    experts = made(active=k, importance=0.3, load=0.2)
    torch.manual_seed(5)
    gates, load = noisy(experts.gate, states()[0].tolist(), noise(TOKENS, EXPERTS), k)
    check(experts, gates, 0.3 * variation(importance(gates, EXPERTS)) + 0.2 * variation(load))


@pytest.mark.parametrize("k", [1, 2])
def test_balanced_gates_and_their_thresholds_are_the_equations(k: int) -> None:
    experts = made(active=k, gate="balanced", importance=0.3, load=0.2)
    gates, loss = balanced(experts.gate, states()[0].tolist(), k)
    assert abs(loss) > 1e-3
    check(experts, gates, 0.3 * variation(importance(gates, EXPERTS)) + loss)


def test_load_is_the_expected_number_of_tokens_if_an_expert_s_own_noise_is_drawn_again() -> None:
    """Equation 8, counted: one expert's noise drawn anew 4000 times, the noise of all others kept."""
    torch.manual_seed(6)
    gate = NoisyGate(WIDTH, EXPERTS, 2)
    for parameter in gate.parameters():
        nn.init.normal_(parameter)
    tokens = states()[0]
    torch.manual_seed(7)
    load = gate(tokens).load.tolist()
    torch.manual_seed(7)
    drawn = torch.randn(TOKENS, EXPERTS)
    clean = gate.choose(tokens)
    deviation = nn.functional.softplus(gate.noise(tokens)) + LEAST_NOISE
    for expert in range(EXPERTS):
        again = drawn.repeat(4000, 1, 1)
        again[:, :, expert] = torch.randn(4000, TOKENS)
        chosen = (clean + again * deviation).topk(2, -1).indices == expert
        assert float(chosen.sum()) / 4000 == pytest.approx(load[expert], abs=0.1)


@pytest.mark.parametrize("gate", ["noisy", "balanced"])
def test_two_levels_are_products_of_gates(gate: str) -> None:
    """Appendix B: G_primary(x)_i G_i(x)_j, and Load_primary(X)_i Load_i(X^(i))_j / |X^(i)|."""
    experts = made(active=1, groups=2, gate=gate, importance=0.3, load=0.2)
    two = experts.gate
    assert isinstance(two, TwoLevelGate)
    tokens = states()[0].tolist()
    torch.manual_seed(5)
    if isinstance(two.first, NoisyGate):
        first, load = noisy(two.first, tokens, noise(TOKENS, 2), 1)
        loss = 0.0
    else:
        first, loss = balanced(two.first, tokens, 1)
        load = []
    gates: Gates = [{} for _ in tokens]
    loads: loops.Vector = []
    for group, within in enumerate(two.second):
        mine = [j for j, row in enumerate(first) if group in row]
        read = [tokens[j] for j in mine]
        if isinstance(within, NoisyGate):
            second, loaded = noisy(within, read, noise(len(mine), 2), 1)
            loads += [load[group] * one / len(mine) for one in loaded]
        else:
            second, own = balanced(within, read, 1)
            loss += own
        for j, row in zip(mine, second, strict=True):
            gates[j] |= {2 * group + i: first[j][group] * value for i, value in row.items()}
    penalty = 0.3 * variation(importance(gates, EXPERTS)) + (0.2 * variation(loads) if loads else 0.0) + loss
    check(experts, gates, penalty)


def test_a_projected_lstm_is_an_lstm_whose_output_is_multiplied_by_a_matrix() -> None:
    """h = W_hr (o tanh(c)), and h enters the gates of the next step: Sak et al. 2014, section 2.1."""
    torch.manual_seed(8)
    layer = ProjectedLstm(2, 4, 3)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    inputs = torch.randn(1, 3, 2)
    stack = layer.stack
    weights = {
        f"{side}{gate}": part.tolist()
        for side, matrix in (("i", stack.weight_ih_l0), ("h", stack.weight_hh_l0))
        for gate, part in zip("ifgo", matrix.chunk(4), strict=True)
    }
    biases = {
        f"{side}{gate}": part.tolist()
        for side, vector in (("i", stack.bias_ih_l0), ("h", stack.bias_hh_l0))
        for gate, part in zip("ifgo", vector.chunk(4), strict=True)
    }
    h, c, expected = [0.0] * 3, [0.0] * 4, []
    for x in inputs[0].tolist():
        cells, c = loops.lstm(x, h, c, weights=weights, biases=biases)
        h = loops.times(stack.weight_hr_l0.tolist(), cells)
        expected.append(h)
    outputs, _ = layer(inputs, layer.start(inputs))
    torch.testing.assert_close(outputs[0], torch.tensor(expected), **CLOSE)
