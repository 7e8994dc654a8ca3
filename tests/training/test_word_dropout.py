"""Words that a model does not see: which, how many, and that labels stay what they are."""

from functools import partial
from pathlib import Path

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES

from dragoman.interfaces import UNK
from dragoman.laws import of_training as laws
from dragoman.laws.examples import batch, fresh_model
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.training.consistency_settings import RDropSettings
from dragoman.training.objectives import build_objective, translation_loss
from dragoman.training.settings import PhaseSettings, TrainingSettings
from dragoman.training.word_dropout import drop_words

PAIRS = batch([5, 3], [6, 3])
ALWAYS = 1 - 1e-12
MODEL = "luong additive"


def test_about_as_many_words_are_dropped_as_the_setting_says() -> None:
    torch.manual_seed(1)
    dropped = drop_words(torch.full((100, 100), 7), 0.1, SPECIAL_IDS)
    assert set(dropped.unique().tolist()) == {UNK, 7}
    assert (dropped == UNK).double().mean().item() == pytest.approx(0.1, abs=0.01)


def test_special_tokens_are_never_dropped() -> None:
    ids = torch.tensor([[0, 1, 2, 3, 4, 5, 6]])
    assert drop_words(ids, ALWAYS, SPECIAL_IDS).tolist() == [[0, 1, 2, 3, 3, 3, 3]]
    assert drop_words(ids, ALWAYS, SpecialIds(pad=1, bos=6, eos=2, unk=5, mask=6)).tolist() == [[5, 1, 2, 5, 5, 5, 6]]


def test_the_model_reads_unknown_words_and_predicts_the_known_ones() -> None:
    model = fresh_model(ARCHITECTURES[MODEL]).eval()
    source = PAIRS.source.ids.masked_fill(PAIRS.source.ids > UNK, UNK)
    inputs = PAIRS.inputs.masked_fill(PAIRS.inputs > UNK, UNK)
    logits = model(type(PAIRS.source)(source, PAIRS.source.mask), inputs).logits
    expected = torch.nn.functional.cross_entropy(logits[PAIRS.real], PAIRS.labels[PAIRS.real], reduction="sum")
    torch.testing.assert_close(translation_loss(model, PAIRS, word_dropout=ALWAYS).total, expected)


def test_each_of_two_passes_misses_words_of_its_own() -> None:
    model, read = fresh_model(ARCHITECTURES[MODEL]), []
    model.register_forward_pre_hook(lambda _, given: read.append((given[0].ids, given[1])))
    pairs = batch([50] * 2, [50] * 2)
    translation_loss(model, pairs, word_dropout=0.5, consistency=RDropSettings())
    for ids, given in zip(read[0], (pairs.source.ids, pairs.inputs), strict=True):
        missed = [half != given for half in ids.chunk(2)]
        assert missed[0].any() and missed[1].any() and not torch.equal(*missed)


def test_without_it_nothing_is_drawn() -> None:
    model = fresh_model(ARCHITECTURES[MODEL]).eval()
    state = torch.get_rng_state()
    translation_loss(model, PAIRS)
    assert torch.equal(torch.get_rng_state(), state)


def test_uneven_batches_have_the_gradient_of_one_big_batch() -> None:
    laws.law_9_an_objective_adds_up(partial(translation_loss, word_dropout=ALWAYS), ARCHITECTURES[MODEL])


def test_a_resumed_run_equals_an_unbroken_one(tmp_path: Path) -> None:
    laws.law_10_a_resumed_run_equals_an_unbroken_one(
        ARCHITECTURES[MODEL], tmp_path, budget={"steps": 4, "word_dropout": 0.3}, stops=[2]
    )


def test_a_phase_without_dropout_has_none() -> None:
    phases = (PhaseSettings(after=0.2), PhaseSettings(after=0.5, dropout=False))
    settings = TrainingSettings(steps=10, word_dropout=0.1, phases=phases)
    rates = [build_objective(settings.in_phase(number)).keywords["word_dropout"] for number in range(3)]  # type: ignore[attr-defined]
    assert rates == [0.1, 0.1, 0.0]
