"""An exponential moving average of the weights, which is what is validated and kept (`training.ema`)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from dragoman.errors import RunError
from dragoman.layers.adapters import Adapters
from dragoman.training.shards import local, share_of


def decay_at(step: int, decay: float) -> float:
    """Return the decay after a step: less in the first ones, so that the initial weights are soon forgotten.

    >>> [decay_at(step, 0.9) for step in (0, 8, 1000)]
    [0.1, 0.5, 0.9]
    """
    return min(decay, (1 + step) / (10 + step))


class WeightAverage:
    """Follow the weights w of a model: after each step, a becomes d a + (1 - d) w (Polyak and Juditsky 1992).

    The decay d grows to its final value as in TensorFlow's ExponentialMovingAverage (`decay_at`). Parameters are averaged;
    buffers are those of the model itself. The average is on the model's device, in float32 like the weights. Of adapters, both
    factors are averaged, rather than their products.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model = model
        self.decay = decay
        self.weights = {name: weight.detach() for name, weight in model.named_parameters()}
        self.averages = {name: weight.clone() for name, weight in self.weights.items()}

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Take in the weights after `step` steps."""
        share = 1 - decay_at(step, self.decay)
        averages, weights = ([local(one) for one in some.values()] for some in (self.averages, self.weights))
        torch._foreach_lerp_(averages, weights, share)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Give the model the averages for the time of a block; then it has exactly its own weights again."""
        own = {name: weight.clone() for name, weight in self.weights.items()}
        try:
            self._fill(self.averages)
            yield
        finally:
            self._fill(own)

    def restore(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        """Take over the averages of a checkpoint. Raises RunError, which names `path`, if they are not those of this model."""
        if {name: tensor.shape for name, tensor in tensors.items()} != {n: t.shape for n, t in self.averages.items()}:
            raise RunError(
                f"{path} holds no average of this model's weights (`training.ema`); start a new run with --out"
            )
        for name, average in self.averages.items():
            average.copy_(share_of(tensors[name], average))

    def _fill(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy tensors into the model in place."""
        for name, weight in self.weights.items():
            weight.copy_(tensors[name])
        if isinstance(self.model, Adapters):
            self.model.merge()
