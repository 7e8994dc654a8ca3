"""Laws 9 to 11, 13 and 14: training adds up and reaches every weight, what is saved is enough, text survives the codec."""

from pathlib import Path

import pytest
from tests.laws.architectures import ARCHITECTURES, FAMILIES, Architecture
from tests.laws.test_laws import each

from dragoman.laws import of_training as laws

DRAWING = [
    name
    for name, architecture in ARCHITECTURES.items()
    if getattr(architecture, "hard", None) is not None or getattr(architecture, "experts", None) is not None
]
"""Exempt from law 9: while training they draw positions or noise at random, other ones in one big batch than in several.

Experts are also kept in balance over a batch, and balanced gates choose tokens among those of a batch.
"""

PARTICULAR = (
    "posterior",
    "luong, marginal, tied",
    "luong, local-p",
    "bahdanau, hard, reinforced",
    "luong, hard, straight through",
    "transformer, shaw",
    "transformer, experts in groups, balanced",
    "document",
)
"""What draws at random, keeps a moving average, or has a gradient of its own, beside the families."""


@each((name for name in ARCHITECTURES if name not in DRAWING), quick=[*FAMILIES, *PARTICULAR])
def test_uneven_batches_have_the_gradient_of_one_big_batch(architecture: Architecture) -> None:
    laws.law_9_uneven_batches_add_up(architecture)


@each(ARCHITECTURES, quick=PARTICULAR[::2])
def test_a_resumed_run_equals_an_unbroken_one(architecture: Architecture, tmp_path: Path) -> None:
    laws.law_10_a_resumed_run_equals_an_unbroken_one(architecture, tmp_path, budget={"steps": 3}, stops=[1])


@each(FAMILIES, quick=FAMILIES[::5])
def test_a_run_resumed_often_equals_an_unbroken_one(architecture: Architecture, tmp_path: Path) -> None:
    stops = [1, 3]
    laws.law_10_a_resumed_run_equals_an_unbroken_one(architecture, tmp_path, budget={"epochs": 1.2}, stops=stops)


@each(["plain gru"])
def test_a_run_without_subword_sampling_resumes_too(architecture: Architecture, tmp_path: Path) -> None:
    laws.law_10_a_resumed_run_equals_an_unbroken_one(
        architecture, tmp_path, budget={"epochs": 1.5}, stops=[1, 4], sampling=0.0
    )


PHASES = [{"after": 0.4, "optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9, "dropout": False}]
PHASES.append({"after": 0.8, "optimizer": "muon", "schedule": "plateau"})


@pytest.mark.parametrize(
    ("name", "budget"),
    [
        pytest.param(name, budget, marks=() if budget == quick else pytest.mark.slow)
        for name, quick in (("plain gru", {"steps": 10}), ("transformer pre-norm, sinusoidal", None))
        for budget in ({"steps": 10}, {"tokens": 400}, {"flops": 2e7})
    ],
    ids=str,
)
def test_training_in_phases_equals_an_unbroken_one(name: str, budget: dict[str, float], tmp_path: Path) -> None:
    architecture = ARCHITECTURES[name]
    settings = {**budget, "phases": PHASES, "optimizer": "muon"}
    laws.law_10_a_resumed_run_equals_an_unbroken_one(architecture, tmp_path, budget=settings, stops=[2, 5])


@each(["bahdanau, hard, reinforced", "transformer pre-norm, sinusoidal"])
def test_training_with_averaged_weights_equals_an_unbroken_one(architecture: Architecture, tmp_path: Path) -> None:
    settings = {"steps": 6, "ema": 0.9}
    laws.law_10_a_resumed_run_equals_an_unbroken_one(architecture, tmp_path, budget=settings, stops=[2, 3])


@pytest.mark.parametrize("name", laws.CODECS)
def test_text_survives_the_codec(name: str) -> None:
    laws.law_11_text_survives_the_codec(laws.codec_of(name))


@each(ARCHITECTURES, quick=[*FAMILIES, *PARTICULAR])
def test_every_weight_is_trained(architecture: Architecture) -> None:
    laws.law_13_every_weight_is_trained(architecture)


@each(ARCHITECTURES, quick=[*FAMILIES, *PARTICULAR])
def test_saved_weights_are_all_there_is(architecture: Architecture) -> None:
    laws.law_14_saved_weights_are_all_there_is(architecture)
