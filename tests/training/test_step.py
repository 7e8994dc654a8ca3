"""One training step. That uneven batches add up is law 9 in `tests/laws`."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from torch.optim import SGD, Adam

from dragoman.errors import TrainingError
from dragoman.interfaces import Batch, Loss
from dragoman.laws.examples import batch, fresh_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.checkpoint import own_tensors
from dragoman.training.objectives import translation_loss
from dragoman.training.step import Compute, NotFiniteError, StepResult, train_step

PAIRS = batch([5, 3], [6, 3])
step = partial(train_step, batches=[PAIRS], clip=1e9, compute=Compute())


@pytest.fixture
def model() -> Seq2Seq:
    return fresh_model(ARCHITECTURES["luong additive"]).eval()


def weights(model: Seq2Seq) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in own_tensors(model).items()}


def test_a_step_walks_down_the_gradient(model: Seq2Seq) -> None:
    before = weights(model)
    step(model, translation_loss, SGD(model.parameters(), lr=0.5))
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.detach(), before[name] - 0.5 * parameter.grad)


def test_the_result_holds_sums_over_tokens(model: Seq2Seq) -> None:
    result = step(model, partial(translation_loss, smoothing=0.1), SGD(model.parameters(), lr=0.0))
    loss = translation_loss(model, PAIRS, smoothing=0.1)
    assert result.tokens == loss.tokens == 5 + 2
    assert result.total == pytest.approx(loss.total.item(), rel=1e-5)
    assert result.plain == pytest.approx(loss.plain.item(), rel=1e-5)
    norms = [parameter.grad.norm() for parameter in model.parameters()]
    assert result.norm == pytest.approx(torch.stack(norms).norm().item(), rel=1e-5)


def test_a_long_gradient_is_cut_to_the_clip(model: Seq2Seq) -> None:
    result: StepResult = step(model, translation_loss, SGD(model.parameters(), lr=0.0), clip=0.01)
    norms = [parameter.grad.norm() for parameter in model.parameters()]
    assert result.norm > 0.01
    assert torch.stack(norms).norm().item() == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("broken", ["loss", "gradient"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_loss_that_is_not_a_number_leaves_weights_and_optimiser_untouched(
    model: Seq2Seq, broken: str, number: float
) -> None:
    def objective(model: Seq2Seq, pairs: Batch) -> Loss:
        loss = translation_loss(model, pairs)
        if broken == "loss":
            return Loss(loss.total * number, loss.tokens, loss.plain)
        loss.total.register_hook(lambda gradient: gradient * number)
        return loss

    optimizer = Adam(model.parameters())
    step(model, translation_loss, optimizer)
    before, averages = weights(model), optimizer.state_dict()["state"][0]["exp_avg"].clone()
    with pytest.raises(NotFiniteError, match=r"the loss is .* and the norm of the gradient (nan|inf)") as caught:
        step(model, objective, optimizer)
    assert isinstance(caught.value, TrainingError)
    assert all(torch.equal(tensor, before[name]) for name, tensor in own_tensors(model).items())
    assert torch.equal(optimizer.state_dict()["state"][0]["exp_avg"], averages)
    step(model, translation_loss, optimizer)
    assert all(tensor.isfinite().all() for tensor in own_tensors(model).values())


def test_memory_that_runs_out_in_the_update_is_no_occasion_to_repeat_the_step(model: Seq2Seq) -> None:
    class Full(SGD):
        def step(self, closure: object = None) -> None:
            """Fail as torch does."""
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

    with pytest.raises(TrainingError, match=r"while the weights were updated.*--resume"):
        step(model, translation_loss, Full(model.parameters(), lr=0.1))


@pytest.mark.parametrize("name", ["transformer, gated", "transformer, rotary"])
def test_nothing_is_asked_of_a_device_between_a_batch_and_its_gradient(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A meta device cannot answer: where it is asked for a number, this breaks. It knows nothing of autocast either."""
    monkeypatch.setattr("dragoman.layers.cross_entropy.matmul_dtype", lambda features: features.dtype)
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
    elsewhere = torch.device("meta")
    model = fresh_model(ARCHITECTURES[name]).to(elsewhere).train()
    loss = translation_loss(model, PAIRS.to(elsewhere), smoothing=0.1)
    loss.total.backward()
    assert loss.tokens == 5 + 2 and loss.total.is_meta
    assert all(parameter.grad is not None for parameter in model.parameters())
