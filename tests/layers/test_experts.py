"""Gates and experts. Their equations are tested in `tests/reference/test_moe.py`."""

from typing import Any

import pytest
import torch
from torch import nn

from dragoman.interfaces import BOS, EOS, PAD
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.layers.experts import BalancedGate, Experts, NoisyGate, Routing, real_inputs
from dragoman.special_ids import SPECIAL_IDS

KINDS: dict[str, dict[str, Any]] = {
    "noisy": {"experts": 4, "active": 2},
    "balanced": {"experts": 4, "active": 2, "gate": "balanced"},
    "noisy, two levels": {"experts": 9, "active": 2, "groups": 3},
    "balanced, two levels": {"experts": 9, "active": 2, "groups": 3, "gate": "balanced"},
}
each = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def experts_of(kind: dict[str, Any], width: int = 6, inner: int = 5) -> Experts:
    """Experts whose gates prefer some of them."""
    torch.manual_seed(1)
    experts = Experts(width, inner, ExpertSettings(**kind))
    for parameter in experts.gate.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter)
    return experts


def counts(routes: Routing, choices: int) -> list[int]:
    """How many tokens each choice gets."""
    return torch.bincount(routes.experts, minlength=choices).tolist()


@each
def test_experts_read_real_tokens_alone_and_give_zeros_for_others(kind: dict[str, Any]) -> None:
    experts, states = experts_of(kind), torch.randn(3, 5, 6)
    real = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [False] * 5])
    torch.manual_seed(2)
    mixed = experts(states, real)
    assert not mixed.states[~real].any() and mixed.states[0].any()
    torch.manual_seed(2)
    other = experts(torch.where(real[..., None], states, 9.0), real)
    assert torch.equal(other.states, mixed.states) and torch.equal(other.penalty, mixed.penalty)


@each
def test_afterwards_each_token_is_by_itself_and_none_is_dropped(kind: dict[str, Any]) -> None:
    experts, states = experts_of(kind).eval(), torch.randn(2, 9, 6)
    mixed = experts(states)
    assert experts.gate(states.flatten(0, 1)).tokens.unique().tolist() == list(range(18))
    for row in range(2):
        for place in range(9):
            alone = experts(states[row : row + 1, place : place + 1])
            torch.testing.assert_close(alone.states[0, 0], mixed.states[row, place])


@each
def test_gates_of_a_token_sum_to_one(kind: dict[str, Any]) -> None:
    experts = experts_of(kind).eval()
    routes = experts.gate(torch.randn(50, 6))
    sums = torch.zeros(50).index_add(0, routes.tokens, routes.weights)
    torch.testing.assert_close(sums, torch.ones(50))
    assert routes.load is None and routes.threshold_loss is None


@each
def test_there_is_a_penalty_while_training_alone(kind: dict[str, Any]) -> None:
    experts, states = experts_of(kind), torch.randn(2, 30, 6)
    assert float(experts(states).penalty.detach()) > 0
    assert experts.eval()(states).penalty is None


@each
def test_every_weight_learns(kind: dict[str, Any]) -> None:
    experts = experts_of(kind)
    mixed = experts(torch.randn(4, 60, 6))
    (mixed.states.square().mean() + mixed.penalty).backward()
    for name, parameter in experts.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name


def test_nothing_real_gives_zeros() -> None:
    mixed = experts_of(KINDS["balanced"])(torch.randn(1, 2, 6), torch.zeros(1, 2, dtype=torch.bool))
    assert not mixed.states.any() and mixed.penalty is None


def test_noisy_gates_choose_k_experts_for_each_token() -> None:
    routes = experts_of(KINDS["noisy"]).gate(torch.randn(7, 6))
    assert routes.tokens.tolist() == [token for token in range(7) for _ in range(2)]
    chosen = routes.experts.view(7, 2)
    assert (chosen[:, 0] != chosen[:, 1]).all()


def test_noisy_gates_start_without_a_preference_and_draw_noise_in_training_alone() -> None:
    gate = NoisyGate(6, 4, 2)
    states = torch.randn(4000, 6)
    shares = torch.tensor(counts(gate(states), 4)) / 8000
    torch.testing.assert_close(shares, torch.full((4,), 0.25), rtol=0, atol=0.03)
    assert not torch.equal(gate(states).experts, gate(states).experts)
    gate.eval()
    assert torch.equal(gate(states).experts, gate(states).experts)


@pytest.mark.parametrize(("tokens", "each_gets"), [(40, 20), (41, 20), (43, 22), (1, 1), (2, 1)])
def test_a_balanced_gate_gives_each_expert_its_share_of_the_batch(tokens: int, each_gets: int) -> None:
    gate = experts_of(KINDS["balanced"]).gate
    routes = gate(torch.randn(tokens, 6))
    assert counts(routes, 4) == [each_gets] * 4
    assert routes.load is None


def test_thresholds_learn_to_give_experts_what_the_batch_gave_them() -> None:
    torch.manual_seed(3)
    gate = BalancedGate(6, 4, 1)
    nn.init.normal_(gate.choose.weight)
    optimizer = torch.optim.Adam([gate.threshold], lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        gate(torch.randn(300, 6)).threshold_loss.backward()
        optimizer.step()
    assert gate.choose.weight.grad is None, "the loss of the thresholds is theirs alone"
    states = torch.randn(2000, 6)
    above = gate.choose(states).softmax(-1) > gate.threshold
    torch.testing.assert_close(above.float().mean(0), torch.full((4,), 0.25), rtol=0, atol=0.04)
    trained = gate(states)
    expected = torch.zeros_like(above).index_put((trained.tokens, trained.experts), torch.tensor(True))
    assert (above == expected).float().mean() > 0.95


def test_thresholds_start_where_all_choices_are_alike() -> None:
    assert BalancedGate(6, 8, 2).threshold.tolist() == [1 / 8] * 8


def test_a_token_above_no_threshold_gets_its_best_expert() -> None:
    gate = experts_of(KINDS["balanced"]).gate.eval()
    nn.init.constant_(gate.threshold, 1.0)
    states = torch.randn(9, 6)
    routes = gate(states)
    assert routes.tokens.tolist() == list(range(9))
    assert torch.equal(routes.experts, gate.choose(states).argmax(-1))
    torch.testing.assert_close(routes.weights, torch.ones(9))


def test_what_predicts_nothing_is_not_read() -> None:
    assert real_inputs(torch.tensor([[BOS, 9, EOS, PAD]]), SPECIAL_IDS).tolist() == [[True, True, False, False]]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"experts": 4, "active": 4}, "`active` must be below 4"),
        ({"experts": 8, "active": 2, "groups": 4}, "`active` must be below 2"),
        ({"experts": 8, "groups": 3}, "`groups` is 3, which does not divide the 8 experts evenly"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(given: dict[str, int], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ExpertSettings(**given)
