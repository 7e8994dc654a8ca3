"""Fast paths are the plain ones within rounding over 200 steps, and the same seed gives the same run."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from tests.laws.architectures import Architecture, convolutional, recurrent, transformer
from tests.slow import some
from torch import Tensor
from torch.optim import AdamW

from dragoman.attention.attend import attend
from dragoman.interfaces import Batch
from dragoman.laws.examples import batch, fresh_model
from dragoman.machine.precision import PrecisionName, arithmetic
from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.objectives import translation_loss
from dragoman.training.optimizers import build_optimizer
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step

STEPS = 120
ARCHITECTURES = {"transformer": transformer, "rnn": recurrent, "convs2s": convolutional}
each = pytest.mark.parametrize("name", some(ARCHITECTURES, ("transformer",)))
BATCHES: list[Batch] = [
    batch([5, 3, 1, 4], [6, 3, 2, 7], 3),
    batch([4, 4], [5, 5], 4),
    batch([2, 6, 3], [8, 2, 4], 5),
    batch([7], [3], 6),
    batch([1, 2, 3, 4, 5], [3, 4, 4, 6, 6], 7),
]
SETTINGS = TrainingSettings(steps=STEPS, weight_decay=0.01, learning_rate=0.003)


def plain_cross_entropy(
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    labels: Tensor,
    *,
    smoothing: float = 0.0,
    native: bool = False,
) -> tuple[Tensor, Tensor]:
    """All logits at once, and torch's loss."""
    logits = F.linear(features, weight, bias)
    total = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
    return total, F.cross_entropy(logits, labels, reduction="sum").detach()


def plain_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, dropout: float, causal: bool
) -> Tensor:
    """Scores, softmax, average, one after the other."""
    scores = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5
    return attend(scores, values, mask, dropout=dropout)[0]


def plain_step(model: Seq2Seq, optimizer: AdamW, pairs: Batch) -> float:
    """Loss, gradient, clipping and update by the book."""
    optimizer.zero_grad()
    loss = translation_loss(model, pairs, smoothing=SETTINGS.label_smoothing)
    (loss.total / loss.tokens).backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
    for gradient in gradients:
        gradient *= min(1.0, SETTINGS.clip / (norm.item() + 1e-6))
    optimizer.step()
    return loss.total.item()


def fast_losses(
    architecture: Architecture, dtype: torch.dtype, *, precision: PrecisionName = "float32", steps: int = STEPS
) -> list[float]:
    """Losses of a training as the trainer does it."""
    model = fresh_model(architecture).to(dtype).train()
    optimizer = build_optimizer(model, SETTINGS)
    step = partial(train_step, model, partial(translation_loss, smoothing=SETTINGS.label_smoothing), optimizer)
    context = arithmetic(precision, torch.device("cpu"))
    return [
        step(batches=[BATCHES[at % len(BATCHES)]], clip=SETTINGS.clip, compute=Compute(context)).total
        for at in range(steps)
    ]


def plain_losses(architecture: Architecture, dtype: torch.dtype, patch: pytest.MonkeyPatch) -> list[float]:
    """Losses of the same training with nothing that is there for speed."""
    patch.setattr("dragoman.layers.embedding.linear_cross_entropy", plain_cross_entropy)
    patch.setattr("dragoman.attention.multi_head.attend_scaled_dot", plain_attention)
    model = fresh_model(architecture).to(dtype).train()
    decays = {
        id(one): group["weight_decay"]
        for group in build_optimizer(model, SETTINGS).param_groups
        for one in group["params"]
    }
    groups = [{"params": [one], "weight_decay": decays[id(one)]} for one in model.parameters()]
    optimizer = AdamW(groups, lr=SETTINGS.learning_rate, betas=SETTINGS.betas, eps=SETTINGS.epsilon, foreach=False)
    return [plain_step(model, optimizer, BATCHES[at % len(BATCHES)]) for at in range(STEPS)]


@pytest.mark.parametrize("name", some(("transformer", "rnn", "convs2s"), ("transformer",)))
def test_losses_are_those_of_the_plain_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    architecture = ARCHITECTURES[name](dropout=0.0)
    fast = fast_losses(architecture, torch.float64)
    plain = plain_losses(architecture, torch.float64, monkeypatch)
    assert fast == pytest.approx(plain, rel=1e-9), "in float64, rounding does not grow visible in so many steps"
    assert sum(fast[-5:]) < 0.8 * sum(fast[:5]), "something is learned, so the losses could differ"


@each
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.03)])
def test_coarser_arithmetic_begins_as_the_exact_run_and_learns_as_much(
    name: str, precision: PrecisionName, tolerance: float
) -> None:
    architecture = ARCHITECTURES[name](dropout=0.0)
    exact = fast_losses(architecture, torch.float64, steps=60)
    coarse = fast_losses(architecture, torch.float32, precision=precision, steps=60)
    assert coarse[:20] == pytest.approx(exact[:20], rel=tolerance)
    assert sum(coarse[-20:]) == pytest.approx(sum(exact[-20:]), rel=0.05)


@each
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_same_seed_gives_the_same_run(name: str, precision: PrecisionName) -> None:
    architecture = ARCHITECTURES[name](dropout=0.3)
    first, second = (fast_losses(architecture, torch.float32, precision=precision, steps=20) for _ in range(2))
    assert first == second
