"""How a model computes here: decided once for a training, and given to the model as one value.

Threads are not part of it: their number belongs to the process (`machine/threads.py`). Weights laid out for translation belong to
a translator (`layers/linear.py::PackedWeights`).
"""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from dragoman.machine.precision import PrecisionName


@dataclass(frozen=True)
class ComputePlan:
    """The ways to compute the same numbers, within rounding."""

    precision: PrecisionName = "float32"
    """Arithmetic of matrix products."""
    native: bool = False
    """Recurrent loops and the loss of output layers in C++, which must be loaded."""
    packed: bool = False
    """Attention leaves padding out, where the kernel can."""
    compiled: Literal["none", "model", "graphs"] = "none"
    """What torch compiles."""


DEFAULT = ComputePlan()
"""How every new model computes: in torch, with padding masked."""


def adopt(model: nn.Module, plan: ComputePlan) -> None:
    """Let the parts of `model` that can compute in more than one way do so as `plan` says.

    Those parts have an attribute `plan`. It belongs to the model rather than to a context, because torch's compiler follows
    attributes but no context variables, and because two models in one process may compute differently.
    """
    for module in model.modules():
        if isinstance(getattr(module, "plan", None), ComputePlan):
            setattr(module, "plan", plan)  # noqa: B010
