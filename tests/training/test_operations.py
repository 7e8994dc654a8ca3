"""Training steps dispatch no more operations than they did: what guards against a slower step, where seconds cannot.

The bounds stand a little above what was counted (torch 2.13), for other releases of torch; whoever saves operations lowers them.
"""

from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dragoman.data.collate import collate
from dragoman.machine.compute_plan import ComputePlan, adopt
from dragoman.models.build import ModelSettings, build_model
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.training.native import native_loops, native_loss
from dragoman.training.objectives import build_objective
from dragoman.training.optimizers import build_optimizer
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step

TRANSFORMER = TransformerSettings(width=16, feed_forward=32, heads=2, encoder_layers=2, decoder_layers=2)
RECURRENT = RecurrentSettings(embedding=16, hidden=16, bidirectional=False, deep_output=False)
VIEWS = frozenset(
    {"view", "t", "transpose", "expand", "slice", "select", "unsqueeze", "squeeze", "detach", "alias", "permute"}
)
"""Operations that compute nothing, and cost less than the others."""


class Counting(TorchDispatchMode):
    """Counts what is dispatched, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count, and do."""
        name = func.overloadpacket.__name__
        if name not in VIEWS:
            self.names[name] += 1
        return func(*args, **(kwargs or {}))


def operations(settings: ModelSettings, length: int, *, native: bool = False) -> Counter[str]:
    """Return what the second step over a batch of sentences of one length dispatches."""
    torch.manual_seed(1)
    model = build_model(settings, Vocabularies(50, 50, shared=True))
    if native:
        device = torch.device("cpu")
        loops, loss = (
            native_loops("native", device, pytest.skip),
            native_loss("native", recurrence=None, device=device, say=pytest.skip),
        )
        adopt(model, ComputePlan(native=loops, native_loss=loss))
    model.train()
    training = TrainingSettings(steps=1, optimizer="adam", precision="float32")
    optimizer, objective = build_optimizer(model, training), build_objective(training)
    batch = collate([([5] * length, [6] * length)] * 4)

    def step() -> None:
        train_step(model, objective, optimizer, batches=[batch], clip=1.0, compute=Compute())

    step()
    with Counting() as counted:
        step()
    return counted.names


@pytest.mark.parametrize(("settings", "most"), [(TRANSFORMER, 425), (RECURRENT, 955)], ids=["transformer", "recurrent"])
def test_a_step_dispatches_no_more_operations_than_it_did(settings: ModelSettings, most: int) -> None:
    found = operations(settings, 6)
    assert found.total() <= most, found


def test_a_transformers_step_dispatches_as_many_operations_for_sentences_of_any_length() -> None:
    assert operations(TRANSFORMER, 4).total() == operations(TRANSFORMER, 9).total()


def test_native_loops_cost_as_many_operations_for_sentences_of_any_length() -> None:
    short, long = (operations(RECURRENT, length, native=True).total() for length in (4, 9))
    assert short == long <= 113


def test_a_longer_target_costs_a_recurrent_step_few_operations() -> None:
    short, long = (operations(RECURRENT, length).total() for length in (4, 9))
    assert (long - short) / 5 <= 116
