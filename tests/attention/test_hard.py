"""Hard attention. That REINFORCE is unbiased is tested in `tests/reference`."""

import pytest
import torch
from torch import Tensor

from dragoman.attention.hard import Reinforcement, argmax_one_hot, sample_reinforce, straight_through, sum_choices
from dragoman.attention.settings import HardSettings
from dragoman.interfaces import Choice


def weights_of(rows: int = 400) -> Tensor:
    """The same weights for many queries, the last key hidden."""
    return torch.tensor([0.6, 0.3, 0.1, 0.0]).expand(1, 1, rows, 4).clone()


def test_a_query_that_sees_nothing_chooses_nothing() -> None:
    nothing = torch.zeros(1, 1, 2, 3)
    assert not argmax_one_hot(nothing).any()
    assert not straight_through(nothing, 1.0).any()
    taken, choice = sample_reinforce(nothing, HardSettings(training="reinforce"))
    assert not taken.any() and not choice.log_prob.any() and not choice.entropy.any()


def test_straight_through_draws_by_the_weights_and_never_what_is_hidden() -> None:
    torch.manual_seed(1)
    taken = straight_through(weights_of(20000), 0.7)[0, 0]
    torch.testing.assert_close(taken.sum(-1), torch.ones(20000))
    assert set(taken.round(decimals=4).unique().tolist()) <= {0.0, 1.0}
    torch.testing.assert_close(taken.mean(0), torch.tensor([0.6, 0.3, 0.1, 0.0]), rtol=0, atol=0.015)


def test_straight_through_passes_the_gradient_of_the_softmax() -> None:
    torch.manual_seed(1)
    weights = weights_of(3).requires_grad_()
    values = torch.randn(1, 1, 4, 2)
    (straight_through(weights, 0.5) @ values).sum().backward()
    assert weights.grad is not None and weights.grad.isfinite().all()
    assert weights.grad[..., :3].abs().min() > 0 and not weights.grad[..., 3].any()


def test_reinforce_draws_by_the_weights() -> None:
    torch.manual_seed(1)
    taken, choice = sample_reinforce(weights_of(20000), HardSettings(training="reinforce", soft_share=0))
    torch.testing.assert_close(taken[0, 0].mean(0), torch.tensor([0.6, 0.3, 0.1, 0.0]), rtol=0, atol=0.015)
    torch.testing.assert_close(choice.log_prob[0], (taken[0, 0] @ torch.tensor([0.6, 0.3, 0.1, 1.0])).log())
    assert (
        choice.entropy[0, 0].item() == torch.distributions.Categorical(torch.tensor([0.6, 0.3, 0.1])).entropy().item()
    )


def test_a_share_of_target_positions_keeps_the_average_and_draws_nothing() -> None:
    torch.manual_seed(1)
    taken, choice = sample_reinforce(weights_of(10000), HardSettings(training="reinforce", soft_share=0.25))
    soft = (taken[0, 0] == weights_of(1)[0, 0]).all(-1)
    assert 0.22 < soft.float().mean() < 0.28
    assert not choice.log_prob[0, soft].any() and (choice.log_prob[0, ~soft] < 0).all()


def test_the_baseline_follows_the_mean_cost_of_real_tokens() -> None:
    reinforcement = Reinforcement(HardSettings(training="reinforce", baseline_decay=0.75))
    costs, real = torch.tensor([[4.0, 8.0, 100.0]]), torch.tensor([[True, True, False]])
    reinforcement(costs, Choice(torch.zeros(1, 3), torch.zeros(1, 3)), real)
    assert reinforcement.baseline.item() == 0.25 * 6
    assert "baseline" in reinforcement.state_dict()


def test_a_position_answers_for_its_own_cost_and_later_ones_above_the_baseline() -> None:
    reinforcement = Reinforcement(HardSettings(training="reinforce", reward_scale=0.5, entropy_bonus=0.1))
    reinforcement.baseline.fill_(1.0)
    costs, real = torch.tensor([[4.0, 2.0, 50.0]]), torch.tensor([[True, True, False]])
    choice = Choice(torch.tensor([[-1.0, -2.0, -9.0]]), torch.tensor([[0.3, 0.5, 9.0]]))
    assert reinforcement(costs, choice, real).item() == torch.tensor(0.5 * (-4 * 1 - 1 * 2) - 0.1 * 0.8).item()


@pytest.mark.parametrize("temperature", [0.3, 2.5])
def test_a_higher_temperature_softens_the_gradient(temperature: float) -> None:
    """The softmax of equation 2 in Jang et al. 2017, of the same noise, divided by the temperature."""
    weights, values = weights_of(5).requires_grad_(), torch.randn(1, 1, 4, 2)
    torch.manual_seed(3)
    (straight_through(weights, temperature) @ values).sum().backward()
    torch.manual_seed(3)
    noise = -torch.empty(1, 1, 5, 4).exponential_().log()
    expected = weights_of(5).requires_grad_()
    soft = ((expected[..., :3].log() + noise[..., :3]) / temperature).softmax(-1)
    (soft @ values[..., :3, :]).sum().backward()
    torch.testing.assert_close(weights.grad, expected.grad)


def test_each_target_position_of_each_sentence_tosses_its_own_coin_for_all_heads() -> None:
    torch.manual_seed(1)
    weights = weights_of(200).expand(2, 3, -1, -1).clone()
    taken, _ = sample_reinforce(weights, HardSettings(training="reinforce", soft_share=0.5))
    soft = (taken == weights).all(-1)
    assert torch.equal(soft, soft[:, :1].expand_as(soft))
    assert not torch.equal(soft[0], soft[1])


def test_choices_of_heads_and_of_layers_add_up() -> None:
    torch.manual_seed(1)
    weights = torch.stack([weights_of(9)[0, 0], torch.tensor([0.25, 0.25, 0.25, 0.25]).expand(9, 4)])[None]
    taken, choice = sample_reinforce(weights, HardSettings(training="reinforce", soft_share=0))
    entropies = [torch.distributions.Categorical(row).entropy().item() for row in weights[0, :, 0]]
    torch.testing.assert_close(choice.log_prob, (taken * weights).sum(-1).log().sum(1))
    torch.testing.assert_close(choice.entropy, torch.full((1, 9), sum(entropies)))
    both = sum_choices([choice, Choice(torch.full((1, 9), -1.0), torch.full((1, 9), 0.5))])
    torch.testing.assert_close(both.log_prob, choice.log_prob - 1)
    torch.testing.assert_close(both.entropy, choice.entropy + 0.5)
