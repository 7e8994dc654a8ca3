"""Compiled training is plain training within rounding. What is recorded on a GPU is compiled here without the recording."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.laws.examples import batch
from tests.tiny import recipe
from torch.optim import SGD

from dragoman import fitting
from dragoman.errors import SettingsError
from dragoman.interfaces import Batch
from dragoman.models.build import build_model
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.training.compiling import Compiled, check_compile, round_up, rounded
from dragoman.training.objectives import build_objective, translation_loss
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import StepResult, train_step

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SETTINGS = TrainingSettings(steps=1)
TRANSFORMER = TransformerSettings(width=8, feed_forward=8, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.1)
RECURRENT = RecurrentSettings(embedding=8, hidden=8)
BATCHES = [batch([5, 3, 4], [6, 3, 2], 1), batch([7, 3], [4, 3], 2), batch([2, 3, 6, 4], [3, 5, 3, 2], 3)]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Programs of one test do not count in the next."""
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def model_of(settings: Any) -> Any:
    torch.manual_seed(1)
    return build_model(settings, Vocabularies(19, 19, shared=True)).train()


def steps(model: Any, compiled: Compiled | None, batches: list[Batch] = BATCHES) -> list[StepResult]:
    """Train for a step on each batch."""
    objectives = build_objective if compiled is None else compiled.around(build_objective)
    torch.manual_seed(2)
    take = partial(train_step, model, objectives(SETTINGS), SGD(model.parameters(), lr=0.05))
    return [take(batches=[one], clip=1.0, precision=nullcontext()) for one in batches]


def numbers(results: list[StepResult]) -> list[float]:
    return [number for one in results for number in (one.total, one.plain, one.norm)]


def test_a_compiled_transformer_trains_as_the_plain_one_dropout_too() -> None:
    plain, model, said = model_of(TRANSFORMER), model_of(TRANSFORMER), list[str]()
    compiled = Compiled(model, "model", said.append, backend="aot_eager")
    expected = numbers(steps(plain, None))
    assert numbers(steps(model, compiled)) == pytest.approx(expected, rel=1e-4)
    assert not said
    assert list(model.state_dict()) == list(plain.state_dict()) and "forward" not in vars(model)
