"""What a resumed training needs besides its settings, as named tensors: weights, the optimiser's averages, random states.

Each of several processes would have random states of its own; everything else is the same in all of them.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dragoman.training.checkpoint import fill, own_tensors


def state_tensors(model: nn.Module, optimizer: Optimizer, device: torch.device) -> dict[str, Tensor]:
    """Return the state of training by name."""
    tensors = {f"model.{name}": tensor for name, tensor in own_tensors(model).items()}
    for index, entries in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in entries.items()}
    return tensors | random_state(device)


def restore_model(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Give a model the weights among `tensors`. RunError, which names `path`, where they are another model's."""
    fill(model, part_of(tensors, "model."), path)


def restore_optimizer(optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give an optimiser the averages among `tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in part_of(tensors, "optimizer.").items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Return the state of torch's random generators by name."""
    tensors = {"random.cpu": torch.get_rng_state()}
    if device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    return tensors


def restore_random_state(tensors: Mapping[str, Tensor], device: torch.device) -> None:
    """Give torch's random generators the states among `tensors`."""
    torch.set_rng_state(tensors["random.cpu"])
    if device.type == "cuda" and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"])


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose name begins with `prefix`, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
