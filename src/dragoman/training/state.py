"""The state needed to resume training, as named tensors: weights, optimiser state, random states.

Of several processes the first writes its own. The others have the same weights and optimiser state, and draw random numbers that
follow from the step (`World.draw_differently`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dragoman.errors import RunError
from dragoman.training.checkpoint import fill, own_tensors
from dragoman.training.contracts import Stream
from dragoman.training.ema import WeightAverage
from dragoman.training.files import RunFiles
from dragoman.training.progress import Progress
from dragoman.training.shards import is_divided, share_of, whole


def save_state(
    files: RunFiles,
    model: nn.Module,
    optimizer: Optimizer,
    *,
    progress: Progress,
    stream: Stream,
    average: WeightAverage | None = None,
    writes: bool = True,
) -> None:
    """Write all that resuming needs into one file.

    Of several processes one `writes`. Where weights are divided, all call this, since what is written is gathered.
    """
    device = next(model.parameters()).device
    tensors = {f"model.{name}": tensor for name, tensor in own_tensors(model).items()}
    for index, entries in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in entries.items()}
    if average is not None:
        tensors |= {f"average.{name}": tensor for name, tensor in average.averages.items()}
    for name in [name for name, tensor in tensors.items() if is_divided(tensor)]:
        gathered = whole(tensors[name])
        tensors[name] = gathered.cpu() if writes else gathered.new_empty(0)
    if not writes:
        return
    metadata = {"progress": progress.to_json(), "position": stream.position, "epochs": stream.epochs_done}
    files.save(files.last, tensors | random_state(device), metadata)
    files.metrics.record()


def save_progress(files: RunFiles, progress: Progress) -> None:
    """Write another progress into the file that `save_state` wrote; the rest stays."""
    tensors, metadata = files.load(files.last)
    files.save(files.last, tensors, metadata | {"progress": progress.to_json()})


def saved_progress(files: RunFiles) -> tuple[Progress, float]:
    """Return the progress that `save_state` wrote, and the passes over the corpus by then; none if nothing was saved.

    Earlier releases wrote only how many passes had ended.
    """
    if not files.last.exists():
        return Progress(), 0.0
    metadata = files.load(files.last)[1]
    with _no_position(files.last):
        return Progress.from_json(metadata["progress"]), float(metadata.get("epochs", metadata["position"]["epoch"]))


def load_state(files: RunFiles, model: nn.Module, stream: Stream) -> tuple[Progress, dict[str, Tensor]]:
    """Give a model the weights that `save_state` wrote and a stream its position; return the progress, and all tensors.

    RunError where the file is missing or damaged, or is another run's or model's.
    """
    path = files.last
    tensors, metadata = files.load(path)
    fill(model, part_of(tensors, "model."), path)
    with _no_position(path):
        progress = Progress.from_json(metadata["progress"])
        stream.seek(metadata["position"])
    return progress, tensors


@contextmanager
def _no_position(path: Path) -> Iterator[None]:
    """Say in one sentence that what a checkpoint says of its position cannot be understood."""
    try:
        yield
    except (LookupError, TypeError, ValueError, OverflowError):
        raise RunError(
            f"{path} contains no training position, so it cannot be resumed; start a new run with --out"
        ) from None


def restore_optimizer(optimizer: Optimizer, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Load the optimiser state among `tensors` into an optimiser; where its parameters are divided, the share of each.

    RunError where it is not the state of these parameters, which an earlier release may have ordered or updated otherwise.
    """
    parameters = [
        (parameter, "exp_avg" if "betas" in group else "momentum_buffer")
        for group in optimizer.param_groups
        for parameter in group["params"]
    ]
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in part_of(tensors, "optimizer.").items():
        index, _, key = name.partition(".")
        state.setdefault(int(index) if index.isdecimal() else -1, {})[key] = tensor
    for number, entries in state.items():
        parameter, average = parameters[number] if 0 <= number < len(parameters) else (None, "")
        if parameter is None or average not in entries or entries[average].shape != parameter.shape:
            raise RunError(
                f"{path} was written by a release of Dragoman that optimised other parts of the model together; resume with that "
                "release, or start a new run from this one with `model.start_from.whole`"
            )
        state[number] = {key: share_of(tensor, parameter) for key, tensor in entries.items()}
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Return the state of torch's random generators by name."""
    tensors = {"random.cpu": torch.get_rng_state()}
    if device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    return tensors


def restore_random_state(tensors: Mapping[str, Tensor], device: torch.device) -> None:
    """Restore torch's random generators from the states among `tensors`. Raises RunError if they are none."""
    try:
        torch.set_rng_state(tensors["random.cpu"])
        if device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"])
    except (KeyError, TypeError, RuntimeError):
        raise RunError(
            "the checkpoint contains no state of random numbers, so it cannot be resumed; start a new run with --out"
        ) from None


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose name begins with `prefix`, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
