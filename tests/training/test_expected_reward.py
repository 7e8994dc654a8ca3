"""Training by the expected reward of sampled translations."""

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES, FAMILIES
from torch import Tensor

from dragoman.interfaces import Batch
from dragoman.laws.examples import batch, fresh_model
from dragoman.layers.embedding import OutputLayer
from dragoman.metrics.gleu import sentence_gleu
from dragoman.models.seq2seq import Seq2Seq
from dragoman.special_ids import SpecialIds
from dragoman.training import expected_reward
from dragoman.training.expected_reward import expected_cost
from dragoman.training.expected_reward_settings import RewardSettings
from dragoman.training.objectives import build_objective, translation_loss
from dragoman.training.settings import TrainingSettings

PAIRS = batch([5, 3, 1, 4], [4, 5, 2, 6])
SETTINGS = RewardSettings(samples=4)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_trained_by_it(name: str) -> None:
    """The gradient reaches whatever that of the likelihood reaches."""
    model = fresh_model(ARCHITECTURES[name]).train()
    output = model(PAIRS.source, PAIRS.inputs)
    likelihood = _gradients(model, output.head.loss(output.features[PAIRS.real], PAIRS.labels[PAIRS.real], 0.0)[0])
    reward = _gradients(model, expected_cost(model, PAIRS, RewardSettings(samples=12)))
    assert likelihood <= reward


def test_the_loss_is_the_likelihood_weighed_by_alpha_less_the_mean_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    model, given = fresh_model(ARCHITECTURES["gnmt"]).eval(), []
    monkeypatch.setattr(expected_reward, "sentence_gleu", lambda *pair: given.append(sentence_gleu(*pair)) or given[-1])
    settings = TrainingSettings(steps=1, label_smoothing=0.1, reward=SETTINGS)
    loss = build_objective(settings)(model, PAIRS)
    alone = translation_loss(model, PAIRS, smoothing=0.1)
    assert len(given) == 4 * 4
    torch.testing.assert_close(loss.total, 0.017 * alone.total - sum(given) / 4)
    torch.testing.assert_close(loss.plain, alone.plain)
    assert loss.tokens == alone.tokens


def test_references_are_compared_without_padding_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    model, references = fresh_model(ARCHITECTURES["luong additive"]), []
    monkeypatch.setattr(expected_reward, "sentence_gleu", lambda ids, reference: references.append(reference) or 0.0)
    expected_cost(model, PAIRS, SETTINGS)
    expected = [ids[1:length] for ids, length in zip(PAIRS.target.ids.tolist(), [3, 4, 1, 5], strict=True)]
    assert references == [reference for reference in expected for _ in range(4)]


@pytest.mark.parametrize(
    ("ratio", "bound", "limits"), [(2.0, None, [6, 8, 2, 10]), (0.1, None, [1] * 4), (9, 7, [6] * 4)]
)
def test_translations_are_drawn_up_to_a_length(
    monkeypatch: pytest.MonkeyPatch, ratio: float, bound: int | None, limits: list[int]
) -> None:
    """A multiple of the reference's tokens with EOS, and never more than the decoder has positions for beside BOS."""
    model, seen = fresh_model(ARCHITECTURES["gnmt"]), []
    model.target_positions = bound
    own = expected_reward.sample
    monkeypatch.setattr(
        expected_reward, "sample", lambda step, state, most, **rest: seen.append(most) or own(step, state, most, **rest)
    )
    expected_cost(model, PAIRS, RewardSettings(samples=2, maximum_ratio=ratio))
    assert seen[0].tolist() == limits


def test_samples_follow_torch_s_random_state() -> None:
    """So a resumed run draws what the unbroken one drew."""
    model = fresh_model(ARCHITECTURES["gnmt"])
    values = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        values.append(translation_loss(model, PAIRS, reward=RewardSettings(samples=2)).total.item())
    assert values[0] == values[1] != values[2]


def test_how_many_rows_are_scored_at_once_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for rows in (64, 3):
        monkeypatch.setattr(expected_reward, "ROWS", rows)
        model = fresh_model(ARCHITECTURES["gnmt"]).eval()
        torch.manual_seed(1)
        expected_cost(model, PAIRS, SETTINGS).backward()
        results.append([parameter.grad for parameter in model.parameters()])
    torch.testing.assert_close(*results)


def test_the_reward_grows() -> None:
    """Without any likelihood, a model finds out by itself which words its sentences share with their references."""
    model = fresh_model(ARCHITECTURES["luong additive"]).eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    torch.manual_seed(1)
    values = []
    for _ in range(20):
        optimizer.zero_grad()
        cost = expected_cost(model, PAIRS, RewardSettings(samples=15))
        cost.backward()
        optimizer.step()
        values.append(-cost.item() / 4)
    assert sum(values[-5:]) > 2 * sum(values[:5])


def _gradients(model: Seq2Seq, cost: Tensor) -> set[str]:
    """The names of the parameters that a cost has a gradient for."""
    model.zero_grad()
    cost.backward()
    return {name for name, p in model.named_parameters() if p.grad is not None and bool(p.grad.abs().sum() > 0)}


@pytest.mark.parametrize("special", [SpecialIds(bos=2), SpecialIds(tags=(5, 6))], ids=["begins with EOS", "tags"])
def test_samples_are_scored_among_what_they_may_have(special: SpecialIds) -> None:
    """A sample's probability is that with which it is drawn: other toolkits begin with EOS, and no translation has a tag."""
    head, features = OutputLayer(8, 13), torch.randn(2, 3, 8)
    allowed = [one for one in range(13) if one not in special.unwritten]
    expected = head(features)[..., allowed].log_softmax(-1)
    labels = [[4, 7, special.eos], [9, special.eos, special.pad]]
    found = expected_reward._log_probs(head, features, torch.tensor(labels), special=special)
    for row, ids in enumerate(([4, 7, special.eos], [9, special.eos, special.eos])):
        own = [expected[row, place, allowed.index(one)] for place, one in enumerate(ids)]
        torch.testing.assert_close(found[row], torch.stack(own))


def test_a_single_pair_of_nothing_but_an_end_can_be_read() -> None:
    empty: Batch = batch([1], [2])
    cost = expected_cost(fresh_model(ARCHITECTURES["gnmt"]), empty, SETTINGS)
    assert torch.isfinite(cost)
