"""Models of finished runs, ready to compute: device, precision and threads."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Generic, Literal, TypeVar

import torch
from torch import nn

from dragoman.errors import InputError
from dragoman.inference.checks import given_paths
from dragoman.inference.threads import fitting_threads
from dragoman.layers.linear import MULTIPLIERS, PackedWeights
from dragoman.machine.devices import choose_device
from dragoman.machine.precision import InferencePrecisionName, choose_inference_precision, width_of
from dragoman.machine.torch_state import undisturbed
from dragoman.models.capabilities import Purpose, capabilities_of
from dragoman.runs.folder import Run, open_run

AnyModel = TypeVar("AnyModel", bound=nn.Module)


class Session(Generic[AnyModel]):
    """Models that compute together, and how they do it.

    Several requests may compute at the same time: nothing of a request is kept here.
    """

    def __init__(self, models: Sequence[AnyModel], *, fixed: bool = False) -> None:
        """Take over models; `fixed` says that their weights no longer change, so they may be packed."""
        self.models = tuple(models)
        self.device = next(self.models[0].parameters()).device
        self.weights = sum(weight.numel() for model in self.models for weight in model.parameters())
        self._fixed = fixed
        self._packed: dict[InferencePrecisionName, PackedWeights] = {}

    def pack(self, requested: Literal["auto", "float32", "bfloat16", "int8"]) -> PackedWeights | None:
        """Return the packed weights of linear layers; None if they may still change."""
        if not self._fixed:
            return None
        width = max(map(width_of, self.models))
        with undisturbed():
            precision = choose_inference_precision(requested, self.device, width=width, multipliers=MULTIPLIERS)
        if precision not in self._packed:
            self._packed[precision] = PackedWeights(precision, *self.models)
        return self._packed[precision]

    @contextmanager
    def computing(self, packed: PackedWeights | None = None, *, rows: int | None = None) -> Iterator[None]:
        """Compute without gradients, with the weights `packed`; small search steps, by their `rows`, use one thread.

        What the caller has set for torch, such as autocast, makes no difference.
        """
        with ExitStack() as contexts:
            contexts.enter_context(torch.inference_mode())
            contexts.enter_context(undisturbed())
            if packed is not None:
                contexts.enter_context(packed.used())
            if rows is not None:
                contexts.enter_context(fitting_threads(rows * self.weights))
            yield


def open_runs(folders: Sequence[str | Path], purpose: Purpose, device: str = "auto") -> tuple[list[Run], torch.device]:
    """Open runs whose models are for a purpose, and choose the device. RunError, or InputError for none or for another kind."""
    if not folders:
        raise InputError("no run is given; give the folder of one, or of several that translate together")
    runs = [open_run(path) for path in given_paths(folders)]
    for run in runs:
        run.require(purpose)
    return runs, choose_device(device)


def check_same_text(first: Run, other: Run) -> None:
    """Raise InputError for an ensemble of runs with different languages or target vocabularies.

    Models that read documents need one source vocabulary too, since previous sentences are tokenised once.
    """
    one, two = first.directions, other.directions
    if (one.tagged, set(one.trained)) != (two.tagged, set(two.trained)):
        raise InputError(
            f"{first.folder} translates {one} but {other.folder} {two}, so they cannot translate together; give runs of the "
            "same directions"
        )
    documents = any(capabilities_of(run.recipe.model).previous for run in (first, other))
    sides = [("target", first.target, other.target)]
    if documents:
        sides.append(("source", first.source, other.source))
    for side, own, given in sides:
        if own.shares(given) and own != given:
            raise InputError(
                f"one of {first.folder} and {other.folder} writes from right to left, so they cannot translate together; let it "
                "rank the other's translations: `--rerank`"
            )
        if own != given:
            raise InputError(
                f"{first.folder} and {other.folder} have different {side} vocabularies, so they cannot translate together; "
                "train both with the same data and text sections"
            )
