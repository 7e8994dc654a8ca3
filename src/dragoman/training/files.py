"""The files that training writes into a run folder. Of several processes only the first writes them."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from dragoman.data.ledger import check, remove_recorded
from dragoman.errors import DamagedError, RunError, shell_path
from dragoman.training.checkpoint import load_tensors, own_tensors, save_tensors
from dragoman.training.reports import MetricsFile

RUN = "run"
"""Metadata key of weights and checkpoints that names the run they belong to."""


def _nobody_else() -> None:
    """Check nothing, where no other process can write."""


@dataclass(frozen=True)
class RunFiles:
    """Weights, checkpoints and records of one run."""

    folder: Path
    identity: str | None = None
    """Identity of the run, stored with its weights so that those of another run are refused; None if it has none."""
    check_ours: Callable[[], None] = _nobody_else
    """Raises RunError where the folder is no longer the one in which this process may write."""

    @property
    def weights(self) -> Path:
        """Return the path of the best weights."""
        return self.folder / "model.safetensors"

    @property
    def last(self) -> Path:
        """Return the path of the checkpoint for resuming."""
        return self.folder / "training" / "last.safetensors"

    @property
    def metrics(self) -> MetricsFile:
        """Return the file of records."""
        return MetricsFile(self.folder / "metrics.jsonl")

    def kept(self) -> list[Path]:
        """Return the paths of the weights kept for averaging, oldest first."""
        return sorted((self.folder / "checkpoints").glob("step-*.safetensors"))

    def kept_at(self, step: int) -> Path:
        """Return the path of the weights kept after a step."""
        return self.folder / "checkpoints" / f"step-{step:08d}.safetensors"

    def save_weights(self, path: Path, model: nn.Module, metadata: Mapping[str, Any]) -> None:
        """Write a model's weights; a tensor shared by several parameters is written once."""
        self.save(path, own_tensors(model), metadata)

    def keep(self, model: nn.Module, step: int, count: int) -> None:
        """Write the weights for averaging, and delete the oldest beyond `count`."""
        if not count:
            return
        self.save_weights(self.kept_at(step), model, {"step": step})
        for old in self.kept()[:-count]:
            remove_recorded(self.folder, old)

    def save(self, path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> None:
        """Write tensors that belong to the run. RunError where it is no longer there, or another process has it."""
        self.check_ours()
        own = {} if self.identity is None else {RUN: self.identity}
        save_tensors(path, tensors, {**metadata, **own}, run=self.folder)

    def resumable(self) -> bool:
        """Tell whether there is a checkpoint to resume from, as there is none before the first save.

        Raises DamagedError where one was saved but is gone: training that began again would replace the best weights.
        """
        if self.last.exists():
            return True
        try:
            self.check_recorded(self.last)
        except DamagedError:
            raise DamagedError(
                f"{self.last} is missing, so training cannot be resumed; restore it from an intact copy, or start a new run from "
                "these weights with `model.start_from.whole`"
            ) from None
        return False

    def recovery_hint(self) -> str:
        """Say what is left of training that diverged, and what to do."""
        kept = f"the last checkpoint in {self.folder} is kept" if self.last.exists() else "no checkpoint was saved yet"
        return f"{kept}: lower training.learning_rate or training.clip, and continue with --resume"

    def load(self, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Read what `save` wrote. Raises RunError if it is missing, damaged, exchanged, or belongs to another run."""
        tensors, metadata = load_tensors(path)
        self.check(path, metadata)
        self.check_recorded(path)
        return tensors, metadata

    def load_best(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Read the best weights as `load` does; where they are damaged, the error says whether resuming would replace them."""
        try:
            return self.load(self.weights)
        except DamagedError as error:
            spare = self._spare()
            if spare is None:
                raise
            resume = f"`dragoman train --resume {shell_path(self.folder)}`"
            raise DamagedError(f"{error}; or let {resume} replace it by {spare}, which is intact") from None

    def _spare(self) -> Path | None:
        """Return the weights of the best validation that were kept for averaging, if they and the last checkpoint are intact."""
        with suppress(RunError, LookupError, TypeError, ValueError):
            path = self.kept_at(self.load(self.last)[1]["progress"]["best_step"])
            self.load(path)
            return path
        return None

    def check_recorded(self, path: Path) -> None:
        """Raise DamagedError if a file of the run is not the one that was saved there last."""
        if path.absolute().is_relative_to(self.folder.absolute()):
            check(self.folder, path)

    def check(self, path: Path, metadata: Mapping[str, Any]) -> None:
        """Raise RunError if the metadata of the file `path` says that it belongs to another run."""
        if self.identity is not None and metadata.get(RUN) != self.identity:
            raise RunError(
                f"{path} belongs to another run, not to {self.folder}; copy the right file from where the run was trained, or "
                "train again"
            )
