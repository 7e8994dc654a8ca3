"""How much memory a training takes, against tensors that are really there."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from tests.tiny import recipe

from dragoman.jobs import memory
from dragoman.jobs.memory import Outline, fitting_batch, outline_of, saved_bytes, static_memory
from dragoman.laws.examples import batch, fresh_model
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.adapters import Adapters
from dragoman.layers.embedding import freeze_embeddings
from dragoman.models.seq2seq import Vocabularies
from dragoman.training.objectives import translation_loss
from dragoman.training.optimizers import build_optimizer
from dragoman.training.settings import TrainingSettings

CPU = torch.device("cpu")
SHARED = Vocabularies(300, 300, shared=True)
PAIRS = batch([5, 3, 4, 7], [6, 3, 5, 4])


def size(tensors: Any) -> int:
    """Return the bytes of tensors."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.mark.parametrize("name", ["transformer pre-norm, sinusoidal", "luong additive", "convs2s dot", "gnmt"])
@pytest.mark.parametrize("way", ["all", "adapters", "frozen embeddings"])
@pytest.mark.parametrize("optimizer", ["adamw", "muon", "sgd", "nesterov"])
def test_the_parts_are_those_of_a_step(name: str, way: str, optimizer: Any) -> None:
    model = fresh_model(ARCHITECTURES[name]).eval()
    adapters = Adapters(model, AdapterSettings(rank=1)) if way == "adapters" else None
    if way == "frozen embeddings":
        freeze_embeddings(model)
    trained = adapters or model
    training = TrainingSettings(steps=1, optimizer=optimizer, momentum=0.9 * (optimizer == "nesterov"))
    found = static_memory(Outline(model, trained), training)
    built = build_optimizer(trained, training)
    translation_loss(model, PAIRS).total.backward()
    gradients = size(weight.grad for weight in model.parameters() if weight.grad is not None)
    base: list[torch.Tensor] = []
    if adapters is not None:
        base = [matrix.base for matrix in adapters.matrices]
        adapters.take_gradients()
        gradients += size(weight.grad for weight in adapters.parameters() if weight.grad is not None)
        assert size(base) > 0
    built.step()
    state = size(v for one in built.state.values() for v in one.values() if torch.is_tensor(v) and v.dim() > 0)
    own = size(trained.parameters()) if adapters is not None else 0
    assert found.weights == size(model.parameters()) + size(base) + own
    assert found.gradients == gradients and found.optimizer == state
    assert found.total == found.weights + found.gradients + found.optimizer


def test_replicas_averages_and_later_optimisers_take_memory_too() -> None:
    given = recipe(
        "transformer", "training.ema=0.9", "training.optimizer=sgd", "training.phases=[{after: 0.5, optimizer: adam}]"
    )
    outline = outline_of(given, SHARED)
    weights = 4 * sum(weight.numel() for weight in outline.model.parameters())
    found = static_memory(outline, given.training, replicas=3)
    assert (found.weights, found.gradients, found.average) == (weights, weights, weights)
    assert (found.optimizer, found.replicas) == (2 * weights, 2 * weights)


def test_adapters_and_frozen_embeddings_are_in_the_outline() -> None:
    adapted = recipe("transformer", "model.adapters={rank: 2}", "model.start_from={whole: base}")
    outline = outline_of(adapted, SHARED)
    assert outline.trained is not outline.model
    assert all(weight.is_meta for weight in (*outline.model.parameters(), *outline.trained.parameters()))
    frozen = recipe("transformer", "training.frozen=embeddings", "model.start_from={whole: base}")
    assert not all(weight.requires_grad for weight in outline_of(frozen, SHARED).model.parameters())


@pytest.mark.parametrize("name", ["transformer pre-norm, sinusoidal", "luong additive", "convs2s dot"])
def test_what_a_batch_keeps_grows_with_its_rows(name: str) -> None:
    model = fresh_model(ARCHITECTURES[name])
    sizes = []
    for rows in (4, 8, 16):
        pairs = batch([9] * rows, [9] * rows)
        sizes.append(saved_bytes(partial(translation_loss, model, pairs), model.parameters()))
    assert 0 < sizes[0] < sizes[1] < sizes[2]
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.1)


def test_a_memory_that_several_operations_keep_counts_once() -> None:
    weight = torch.nn.Parameter(torch.ones(10))
    given = torch.ones(1000)

    def compute() -> Any:
        total = (given * weight.sum()).sum() + (given[:500] * weight.sum()).sum() + (weight * weight).sum()
        return SimpleNamespace(total=total)

    assert saved_bytes(compute, [weight]) <= 4000 + 100


@pytest.mark.parametrize("model", ["rnn", "transformer", "masked_lm", "decoder_only"])
def test_a_batch_is_cut_down_to_the_free_memory(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = recipe(model, "training.batch_tokens=100000")
    before = torch.get_rng_state()
    assert fitting_batch(given, SHARED, CPU) == 100_000
    assert torch.equal(before, torch.get_rng_state())
    static = static_memory(outline_of(given, SHARED), given.training).total
    found = []
    for room in (10e6, 20e6):
        monkeypatch.setattr(memory, "free_memory", lambda _, room=room: (static + room) / memory.SHARE)
        found.append(fitting_batch(given, SHARED, CPU))
    assert 100 < found[0] < found[1] < 100_000
    assert found[1] == pytest.approx(2 * found[0], rel=0.01)
    monkeypatch.setattr(memory, "free_memory", lambda _: static)
    assert fitting_batch(given, SHARED, CPU) == 100_000  # refused elsewhere
    monkeypatch.setattr(memory, "free_memory", lambda _: None)
    assert fitting_batch(given, SHARED, CPU) == 100_000


def test_a_guided_head_is_counted() -> None:
    given = recipe("transformer", "training.guided={links: learned}", "training.batch_tokens=500")
    assert fitting_batch(given, SHARED, CPU) == 500


def test_the_sentences_of_a_batch_are_no_longer_than_the_model_takes() -> None:
    given = recipe("transformer", "model.positions=learned", "model.max_positions=10", "training.batch_tokens=500")
    assert fitting_batch(given, SHARED, CPU) == 500
