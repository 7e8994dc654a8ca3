"""What a resumed training needs besides its settings."""

from math import nan
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dragoman.errors import RunError
from dragoman.interfaces import Batch
from dragoman.training.files import RunFiles
from dragoman.training.progress import Progress
from dragoman.training.state import load_state, restore_optimizer, restore_random_state, save_state, saved_progress

CPU = torch.device("cpu")


class Place:
    """A stream that knows its position alone."""

    def __init__(self, epoch: int = 0) -> None:
        self.position, self.epochs_done = {"epoch": epoch}, float(epoch)

    def __next__(self) -> Batch:
        raise AssertionError

    def seek(self, position: dict[str, Any]) -> None:
        """Move."""
        self.position = position

    def close(self) -> None:
        """End nothing."""


def training(*, width: int = 3) -> tuple[nn.Linear, torch.optim.Adam]:
    """Return a model, and an optimiser that has taken a step."""
    model = nn.Linear(3, width)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def test_weights_averages_chance_and_place_come_back(tmp_path: Path) -> None:
    files, (model, optimizer) = RunFiles(tmp_path), training()
    assert saved_progress(files) == (Progress(), 0)
    save_state(files, model, optimizer, progress=Progress(step=4), stream=Place(2))
    assert saved_progress(files) == (Progress(step=4), 2)
    drawn = torch.rand(3)
    (other, fresh), stream = training(), Place()
    progress, tensors = load_state(files, other, stream)
    restore_optimizer(fresh, tensors, files.last)
    restore_random_state(tensors, CPU)
    assert (progress.step, stream.position) == (4, {"epoch": 2})
    assert torch.equal(other.weight, model.weight) and torch.equal(torch.rand(3), drawn)
    for one, two in zip(optimizer.state.values(), fresh.state.values(), strict=True):
        assert torch.equal(one["exp_avg"], two["exp_avg"]) and one["step"] == two["step"]


def test_the_state_of_another_model_is_refused(tmp_path: Path) -> None:
    files, (model, optimizer) = RunFiles(tmp_path), training()
    save_state(files, model, optimizer, progress=Progress(), stream=Place())
    with pytest.raises(RunError, match=r"last\.safetensors"):
        load_state(files, training(width=4)[0], Place())


def test_the_optimiser_state_of_other_parameters_is_refused(tmp_path: Path) -> None:
    """A release may group parameters otherwise, so that their numbers in the state mean others, or other averages are kept."""
    files, (model, optimizer) = RunFiles(tmp_path), training()
    save_state(files, model, optimizer, progress=Progress(), stream=Place())
    _, tensors = load_state(files, model, Place())
    weight, bias = model.parameters()
    others = [
        torch.optim.Adam([bias, weight]),
        torch.optim.Adam([weight]),
        torch.optim.SGD([weight, bias], momentum=0.9),
    ]
    for other in others:
        with pytest.raises(RunError, match=r"last\.safetensors was written by a release .*`model\.start_from\.whole`"):
            restore_optimizer(other, tensors, files.last)


@pytest.mark.parametrize("about", [{}, {"progress": {"step": nan}, "position": {}}, {"progress": {}}])
def test_weights_without_a_position_are_refused(tmp_path: Path, about: dict[str, object]) -> None:
    files, (model, _) = RunFiles(tmp_path), training()
    files.save(files.last, {f"model.{name}": tensor for name, tensor in model.state_dict().items()}, about)
    with pytest.raises(RunError, match="contains no training position"):
        load_state(files, model, Place())


@pytest.mark.parametrize("name", ["x.exp_avg", "0", "-1.exp_avg", "7.exp_avg"])
def test_what_is_no_optimiser_state_is_refused(tmp_path: Path, name: str) -> None:
    _, optimizer = training()
    with pytest.raises(RunError, match="optimised other parts"):
        restore_optimizer(optimizer, {f"optimizer.{name}": torch.zeros(1)}, tmp_path)


@pytest.mark.parametrize(
    "state", [{}, {"random.cpu": torch.zeros(3)}, {"random.cpu": torch.zeros(3, dtype=torch.uint8)}]
)
def test_what_is_no_state_of_random_numbers_is_refused(state: dict[str, torch.Tensor]) -> None:
    with pytest.raises(RunError, match="no state of random numbers"):
        restore_random_state(state, CPU)
