"""Batches that do not fit into memory: cut in two, their step is the one of the whole batch."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES, FAMILIES
from tests.slow import some
from torch import nn
from torch.optim import SGD

from dragoman.errors import TrainingError
from dragoman.interfaces import Batch, Loss
from dragoman.jobs.parts import splittable
from dragoman.laws.examples import batch, fresh_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.objectives import translation_loss
from dragoman.training.replicas import Replicas
from dragoman.training.settings import TrainingSettings
from dragoman.training.splitting import DEPENDS, Size, Splitter, size_of
from dragoman.training.step import Compute, StepResult, train_step

PAIRS = batch([5, 3, 4, 7, 2, 6], [6, 3, 5, 4, 7, 2])
MORE = batch([3, 2], [4, 2], seed=9)
SPLITTABLE = [
    name
    for name, model in ARCHITECTURES.items()
    if splittable(SimpleNamespace(model=model, training=TrainingSettings(steps=1)))
]
EACH = some(SPLITTABLE, FAMILIES[1::6])
"""All of them, but most in `make slow`."""
OBJECTIVE = partial(translation_loss, smoothing=0.1)
FULL = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes. Error code 12")

Backward = Callable[[], object]

pytestmark = pytest.mark.usefixtures("few_objects")


def without_dropout(name: str) -> Seq2Seq:
    """Return a new model that draws nothing."""
    return fresh_model(ARCHITECTURES[name]).eval()


def gradients(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the gradients by the names of parameters."""
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


def short_of_memory(rows: int, error: BaseException = FULL, *, late: bool = False) -> Callable[..., Loss]:
    """Return an objective for which memory runs out with more than `rows`; `late`: in the backward pass."""

    def objective(model: Seq2Seq, pairs: Batch) -> Loss:
        if len(pairs.source.ids) <= rows:
            return OBJECTIVE(model, pairs)
        if not late:
            raise error
        loss = OBJECTIVE(model, pairs)
        next(model.parameters()).register_hook(Once(error))
        return loss

    return objective


class Once:
    """A hook on a gradient that fails once."""

    def __init__(self, error: BaseException) -> None:
        self.error: BaseException | None = error

    def __call__(self, _: torch.Tensor) -> None:
        """Fail, if this is the first time."""
        error, self.error = self.error, None
        if error is not None:
            raise error


def stepped(model: Seq2Seq, objective: Any, *, splitter: Splitter | None = None, **options: Any) -> StepResult:
    """Take a step that changes nothing but gradients, over both batches."""
    splitter = splitter or Splitter(lambda _: None)
    step = partial(train_step, model, objective, SGD(model.parameters(), lr=0.0), clip=1e9, compute=Compute(**options))
    return splitter.take(lambda parts: step(batches=parts), [PAIRS, MORE])


def assert_same_step(model: Seq2Seq, objective: Any, *, splitter: Splitter | None = None, **options: Any) -> None:
    """Compare a step that had to be cut with the one of whole batches."""
    expected, wanted = stepped(model, OBJECTIVE), gradients(model)
    result, found = stepped(model, objective, splitter=splitter, **options), gradients(model)
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6)
    assert result.tokens == expected.tokens
    assert (result.total, result.plain) == pytest.approx((expected.total, expected.plain), rel=1e-5)
    assert result.norm == pytest.approx(expected.norm, rel=1e-4)


def test_almost_every_architecture_can_be_split() -> None:
    assert {"bahdanau gru additive", "convs2s dot", "gnmt", "transformer, nothing tied", "decoder-only"} <= set(
        SPLITTABLE
    )
    whole = {"transformer, experts", "moe, noisy", "transformer, hard, reinforced", "bahdanau, hard, reinforced"}
    assert not whole & set(SPLITTABLE)


@pytest.mark.parametrize("name", EACH)
def test_a_step_in_parts_is_the_step_of_the_whole_batch(name: str) -> None:
    said: list[str] = []
    splitter = Splitter(said.append)
    assert_same_step(without_dropout(name), short_of_memory(2), splitter=splitter)
    assert [size.rows for size in splitter.too_large] == [6, 3]
    assert len(said) == 1 and "6 sentences of at most 7 tokens" in said[0] and "training.batch_tokens" in said[0]


@pytest.mark.parametrize(
    "error",
    [
        FULL,
        MemoryError(),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        torch.OutOfMemoryError("CUDA out of memory"),
    ],
)
def test_each_way_to_run_out_of_memory_is_known(error: BaseException) -> None:
    assert_same_step(without_dropout("luong dot"), short_of_memory(4, error))


def test_the_gradient_of_an_attempt_that_failed_on_the_way_back_does_not_count() -> None:
    assert_same_step(without_dropout("gnmt"), short_of_memory(5, late=True))


def test_other_errors_are_not_an_occasion_to_try_again() -> None:
    with pytest.raises(RuntimeError, match=r"shapes do not match"):
        stepped(without_dropout("gnmt"), short_of_memory(4, RuntimeError("shapes do not match")))


def test_what_is_as_large_as_what_did_not_fit_is_cut_at_once() -> None:
    tried: list[int] = []

    def step(parts: list[Batch]) -> int:
        tried.append(len(parts))
        if any(len(part.source.ids) > 3 for part in parts):
            raise FULL
        return len(parts)

    said: list[str] = []
    splitter = Splitter(said.append)
    assert splitter.take(step, [PAIRS]) == 2 and tried == [1, 2]
    assert splitter.take(step, [PAIRS]) == 2 and tried == [1, 2, 2]
    assert splitter.take(step, [MORE]) == 1
    assert len(said) == 1


def test_a_single_pair_that_does_not_fit_ends_training_with_what_can_be_done() -> None:
    with pytest.raises(TrainingError, match=r"single training pair of \d source and \d target tokens") as refused:
        stepped(without_dropout("gnmt"), short_of_memory(0))
    assert all(word in str(refused.value) for word in ("does not fit into memory", "data.filters.max_words"))


def test_a_loss_of_the_whole_batch_is_not_cut() -> None:
    splitter = Splitter(lambda _: None, whole=DEPENDS)
    with pytest.raises(TrainingError, match=r"6 sentences .*cannot be computed in parts.*training\.batch_tokens"):
        stepped(without_dropout("gnmt"), short_of_memory(4), splitter=splitter)


def test_replicas_share_what_is_left_of_a_batch() -> None:
    model = without_dropout("transformer pre-norm, sinusoidal")
    shared = Replicas(model, 2, threads=1, precision=nullcontext)
    try:
        assert_same_step(model, short_of_memory(2), replicas=shared)
        assert_same_step(model, short_of_memory(2, late=True), replicas=shared)
    finally:
        shared.close()


def test_a_size_is_that_of_the_longest_sentences() -> None:
    assert size_of(PAIRS) == Size(6, 7, 7) and Size(6, 7, 7).cells == 84
