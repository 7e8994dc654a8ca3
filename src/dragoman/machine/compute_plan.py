"""How a model computes here: decided once per training, and passed to the model as one value.

Threads are not part of it: their number belongs to the process (`machine/threads.py`). Weights packed for inference belong
to a translator (`layers/linear.py::PackedWeights`).
"""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from dragoman.machine.precision import PrecisionName


@dataclass(frozen=True)
class ComputePlan:
    """Different ways to compute the same numbers, up to rounding."""

    precision: PrecisionName = "float32"
    """Arithmetic of matrix products."""
    native: bool = False
    """Run recurrent loops in C++; the extension must be loaded."""
    native_loss: bool = False
    """Compute the loss of output layers in C++; the extension must be loaded."""
    packed: bool = False
    """Attention skips padding if the kernel can."""
    compiled: Literal["none", "model", "graphs"] = "none"
    """What torch compiles."""


DEFAULT = ComputePlan()
"""The plan of every new model: in torch, with padding masked."""


def adopt(model: nn.Module, plan: ComputePlan) -> None:
    """Apply `plan` to the parts of `model` that can compute in more than one way.

    Those parts have an attribute `plan`. It belongs to the model rather than to a context, because torch's compiler tracks
    attributes but not context variables, and because two models in one process may compute differently.
    """
    for module in model.modules():
        if isinstance(getattr(module, "plan", None), ComputePlan):
            setattr(module, "plan", plan)  # noqa: B010
