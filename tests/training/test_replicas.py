"""Copies of a model that compute parts of a batch: the gradient is that of the whole, and the same state gives the same step."""

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from tests.slow import some
from torch import nn
from torch.optim import SGD

from dragoman.interfaces import Batch
from dragoman.jobs.parts import replicable
from dragoman.laws.examples import batch, fresh_model
from dragoman.layers.dropout import Dropout
from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.flops import counting
from dragoman.training.objectives import translation_loss
from dragoman.training.replicas import Replicas, parts_of
from dragoman.training.settings import GuidedSettings, TrainingSettings
from dragoman.training.step import Compute, StepResult, train_step

PAIRS = batch([5, 3, 4, 7, 2], [6, 3, 5, 4, 7])
PLAIN = "transformer pre-norm, sinusoidal"
REPLICABLE = [
    name
    for name, model in ARCHITECTURES.items()
    if replicable(SimpleNamespace(model=model, training=TrainingSettings(steps=1)))
]


@pytest.fixture
def replicas() -> Iterator[type[Replicas]]:
    """Make replicas whose threads end with the test."""
    made: list[Replicas] = []

    def make(model: nn.Module, count: int) -> Replicas:
        made.append(Replicas(model, count, threads=1, precision=nullcontext))
        return made[-1]

    yield make  # type: ignore[misc]
    for one in made:
        one.close()


def stepped(model: Seq2Seq, pairs: Batch = PAIRS, *, shared: Replicas | None = None, **options: object) -> StepResult:
    """Take a step that changes nothing but gradients."""
    objective = partial(translation_loss, smoothing=0.1, **options)  # type: ignore[arg-type]
    optimizer = SGD(model.parameters(), lr=0.0)
    return train_step(model, objective, optimizer, batches=[pairs], clip=1e9, compute=Compute(replicas=shared))


def gradients(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the gradients by the names of parameters."""
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def see_gradients(model: nn.Module, wanted: dict[str, torch.Tensor]) -> None:
    """See that the same weights have a gradient as in `wanted`, and the same one."""
    found = gradients(model)
    assert found.keys() == wanted.keys()
    for weight, gradient in wanted.items():
        torch.testing.assert_close(found[weight], gradient, rtol=1e-4, atol=1e-6)


def dropping(rate: float) -> Seq2Seq:
    """Return a Transformer in training, all of whose dropout has a rate."""
    model = fresh_model(ARCHITECTURES[PLAIN]).train()
    for module in model.modules():
        if isinstance(module, Dropout):
            module.dropped = round(256 * rate)
    return model


def test_transformers_are_replicable_unless_a_part_of_them_needs_the_whole_batch() -> None:
    assert PLAIN in REPLICABLE and "transformer, target tied" in REPLICABLE
    assert not {"transformer, experts", "transformer, hard, reinforced", "luong additive"} & set(REPLICABLE)
    assert "transformer, nothing tied" not in REPLICABLE  # it has attention dropout


@pytest.mark.parametrize("name", some(REPLICABLE, REPLICABLE[::6]))
@pytest.mark.parametrize("count", [2, 3])
def test_the_gradient_is_that_of_the_whole_batch(name: str, count: int, replicas: type[Replicas]) -> None:
    model = fresh_model(ARCHITECTURES[name]).eval()
    expected, wanted = stepped(model), gradients(model)
    result = stepped(model, shared=replicas(model, count))
    see_gradients(model, wanted)
    assert result.tokens == expected.tokens
    assert (result.total, result.plain) == pytest.approx((expected.total, expected.plain), rel=1e-5)
    assert result.norm == pytest.approx(expected.norm, rel=1e-4)


def test_a_guided_head_learns_from_the_links_of_each_part(replicas: type[Replicas]) -> None:
    model = fresh_model(ARCHITECTURES[PLAIN]).eval()
    links = torch.rand(*PAIRS.labels.shape, PAIRS.source.ids.shape[1], generator=torch.Generator().manual_seed(1)) < 0.3
    pairs = Batch(PAIRS.source, PAIRS.target, links)
    guided = GuidedSettings(layer=1, head=1, weight=0.5)
    stepped(model, pairs, guided=guided)
    wanted = gradients(model)
    stepped(model, pairs, shared=replicas(model, 2), guided=guided)
    see_gradients(model, wanted)


def test_the_same_random_state_gives_the_same_step_and_parts_drop_other_units(replicas: type[Replicas]) -> None:
    model = dropping(0.5)
    twins = Batch(
        *(type(side)(side.ids[:1].repeat(2, 1), side.mask[:1].repeat(2, 1)) for side in (PAIRS.source, PAIRS.target))
    )
    shared, found = replicas(model, 2), []
    for _ in range(3):
        torch.manual_seed(3)
        losses = shared.add_gradient(partial(translation_loss), twins, tokens=1)
        found.append(gradients(model))
        model.zero_grad()
    first, second = (loss.plain.item() for loss in losses)
    assert first != second
    assert all(torch.equal(found[0][name], other[name]) for other in found[1:] for name in found[0])
    torch.manual_seed(4)
    shared.add_gradient(partial(translation_loss), twins, tokens=1)
    assert any(not torch.equal(gradient, found[0][name]) for name, gradient in gradients(model).items())


def test_copies_follow_weights_mode_and_dropout_of_the_model(replicas: type[Replicas]) -> None:
    model = dropping(0.5)
    shared = replicas(model, 2)
    for module in model.modules():
        if isinstance(module, Dropout):
            module.dropped = 0
    for weight in model.parameters():
        weight.data = weight.data * 0.9
    stepped(model)
    wanted = gradients(model)
    stepped(model, shared=shared)
    see_gradients(model, wanted)
    model.eval()
    for module in model.modules():
        if isinstance(module, Dropout):
            module.dropped = 128
    stepped(model, shared=shared)
    see_gradients(model, wanted)


def test_all_work_is_counted(replicas: type[Replicas]) -> None:
    model = fresh_model(ARCHITECTURES[PLAIN]).eval()
    with counting() as whole:
        stepped(model)
    with counting() as parts:
        stepped(model, shared=replicas(model, 2))
    assert parts.flops == whole.flops > 0


@pytest.mark.parametrize(("count", "rows"), [(2, [2, 3]), (3, [1, 2, 2]), (9, [1] * 5)])
def test_parts_hold_all_rows_in_order(count: int, rows: list[int]) -> None:
    parts = parts_of(PAIRS, count)
    assert [len(part.source.ids) for part in parts] == rows
    assert torch.equal(torch.cat([part.target.ids for part in parts]), PAIRS.target.ids)
    assert sum(len(part.label_positions) for part in parts) == len(PAIRS.label_positions)


def test_a_batch_of_fewer_rows_than_replicas_is_computed(replicas: type[Replicas]) -> None:
    model, pair = fresh_model(ARCHITECTURES[PLAIN]).eval(), batch([4], [5])
    expected = stepped(model, pair)
    assert stepped(model, pair, shared=replicas(model, 3)).total == pytest.approx(expected.total, rel=1e-5)


def test_an_error_in_a_part_reaches_the_caller(replicas: type[Replicas]) -> None:
    model = fresh_model(ARCHITECTURES[PLAIN]).eval()

    def broken(*_: object) -> None:
        raise ValueError("planted")

    with pytest.raises(ValueError, match=r"planted"):
        replicas(model, 2).add_gradient(broken, PAIRS, tokens=1)  # type: ignore[arg-type]
