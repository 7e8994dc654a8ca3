"""Two passes that must predict the same: what they change, what is cut off, and that training stays what it was."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES, FAMILIES, Architecture
from tests.laws.test_laws import each
from tests.laws.test_laws_of_work import DRAWING
from torch import nn

from dragoman.errors import TrainingError
from dragoman.interfaces import Batch
from dragoman.laws import of_training as laws
from dragoman.laws.examples import batch, fresh_model
from dragoman.layers.dropout import dropout_rates, switch_dropout
from dragoman.layers.embedding import TokenEmbedding
from dragoman.special_ids import SpecialIds
from dragoman.training.consistency import first_pass, second_pass_cut, twice
from dragoman.training.consistency_settings import RDropSettings, SimCutSettings
from dragoman.training.objectives import translation_loss
from dragoman.training.settings import GuidedSettings

PAIRS = batch([5, 2, 4, 3], [9, 3, 2, 4])
ALWAYS = 1 - 1e-12
STEADY = [name for name in FAMILIES if name not in DRAWING]
"""Families that draw nothing but dropout while they are trained."""
SIMCUT = {"kind": "simcut", "cutoff": 0.3}


@each(STEADY, quick=STEADY[::2])
def test_without_dropout_r_drop_is_plain_training(architecture: Architecture) -> None:
    model = fresh_model(architecture).train()
    switch_dropout(dropout_rates(model), on=False)
    gradients = []
    for consistency in (None, RDropSettings()):
        model.zero_grad()
        loss = translation_loss(model, PAIRS, smoothing=0.1, consistency=consistency)
        loss.total.backward()
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
        gradients[-1] |= {"loss": loss.total.detach(), "plain": loss.plain}
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=1e-3, atol=1e-4, msg=f"{name} differs")


@pytest.mark.parametrize("consistency", [SimCutSettings(cutoff=0.3), RDropSettings()])
def test_which_tokens_count_is_found_once_for_both_passes(
    consistency: SimCutSettings | RDropSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    real = Batch.real

    def noted(batch: Batch) -> Any:
        found.append(len(batch.target.ids))
        return real.fget(batch)  # type: ignore[attr-defined]

    monkeypatch.setattr(Batch, "real", property(noted))
    translation_loss(fresh_model(ARCHITECTURES["luong additive"]).train(), PAIRS, consistency=consistency)
    assert found == [4]


def test_the_tokens_that_count_are_those_of_both_passes() -> None:
    both = twice(PAIRS)
    assert both.cached_label_positions is not None
    assert both.label_positions.tolist() == both.real.flatten().nonzero()[:, 0].tolist()
    known = twice(PAIRS.to(torch.device("cpu")))
    assert known.label_positions.tolist() == both.label_positions.tolist()


@each([*STEADY, "posterior", "document"])
def test_uneven_batches_have_the_gradient_of_one_big_batch(architecture: Architecture) -> None:
    consistency = SimCutSettings(cutoff=ALWAYS)
    laws.law_9_an_objective_adds_up(partial(translation_loss, smoothing=0.1, consistency=consistency), architecture)


@pytest.mark.parametrize("consistency", [SIMCUT, {"kind": "r_drop"}], ids=["simcut", "r_drop"])
def test_a_resumed_run_equals_an_unbroken_one(consistency: dict[str, object], tmp_path: Path) -> None:
    settings = {"steps": 4, "consistency": consistency}
    laws.law_10_a_resumed_run_equals_an_unbroken_one(ARCHITECTURES["plain gru"], tmp_path, budget=settings, stops=[2])


def test_only_the_second_pass_is_cut_and_never_a_special_token() -> None:
    embedding, special = TokenEmbedding(9, 4), SpecialIds(pad=0, bos=5, eos=2, unk=3, mask=5)
    ids = torch.tensor([[5, 6, 7, 8], [4, 2, 3, 1]])
    plain = embedding(torch.cat([ids, ids]))
    with second_pass_cut(embedding, SimCutSettings(cutoff=ALWAYS), special):
        cut = embedding(torch.cat([ids, ids]))
    kept = torch.tensor([[True, False, False, False], [False, True, True, False]])
    assert torch.equal(cut[:2], plain[:2]) and torch.equal(cut[2:], plain[2:] * kept[..., None])
    assert torch.equal(embedding(ids), plain[:2])


def test_about_as_many_tokens_are_cut_as_the_setting_says() -> None:
    embedding, ids = TokenEmbedding(9, 4), torch.full((2, 10_000), 7)
    torch.manual_seed(1)
    with second_pass_cut(embedding, SimCutSettings(cutoff=0.05), SpecialIds()):
        cut = (embedding(ids)[1] == 0).all(-1).double().mean()
    assert cut.item() == pytest.approx(0.05, abs=0.01)


def test_each_sentence_is_cut_in_places_of_its_own() -> None:
    embedding, ids = TokenEmbedding(9, 4), torch.full((4, 100), 7)
    with second_pass_cut(embedding, SimCutSettings(cutoff=0.5), SpecialIds()):
        cut = (embedding(ids) == 0).all(-1)
    assert cut[2].any() and cut[3].any() and not torch.equal(cut[2], cut[3])


def test_the_first_pass_is_the_first_half_of_all_that_a_model_says() -> None:
    model, both = fresh_model(ARCHITECTURES["bahdanau, hard, reinforced"]).train(), twice(PAIRS)
    output = model(both.source, both.inputs, need_weights=True)
    first = first_pass(output)
    assert first.choice is not None and output.choice is not None and first.attention is not None
    for one, whole in (
        (first.features, output.features),
        (first.attention, output.attention),
        (first.choice.log_prob, output.choice.log_prob),
        (first.choice.entropy, output.choice.entropy),
    ):
        assert torch.equal(one, whole[:4]) and not torch.equal(one, whole[4:])


def test_a_model_with_embeddings_of_its_own_cannot_be_cut() -> None:
    with (
        pytest.raises(TrainingError, match=r"simcut` .*TokenEmbedding.*kind: r_drop"),
        second_pass_cut(nn.Embedding(5, 3), SimCutSettings(), SpecialIds()),
    ):
        pass
    with second_pass_cut(nn.Embedding(5, 3), RDropSettings(), SpecialIds()):
        pass


@pytest.mark.parametrize("consistency", [SimCutSettings(cutoff=ALWAYS), RDropSettings()])
def test_a_guided_head_learns_from_the_passes_that_count(
    consistency: SimCutSettings | RDropSettings,
) -> None:
    model = fresh_model(ARCHITECTURES["luong additive"]).eval()
    links = torch.zeros(4, 8, 5, dtype=torch.bool)
    links[:, 0, 0] = True
    linked = type(PAIRS)(PAIRS.source, PAIRS.target, links)
    guided = GuidedSettings(weight=2.0)
    added = [
        translation_loss(model, linked, guided=guided, consistency=one).total
        - translation_loss(model, linked, consistency=one).total
        for one in (None, consistency)
    ]
    torch.testing.assert_close(added[0], added[1], rtol=1e-3, atol=1e-4)
    assert added[0] > 0.1
