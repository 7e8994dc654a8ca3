"""Low-rank adapters of every architecture."""

from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.laws.architectures import ARCHITECTURES, FAMILIES
from tests.slow import some
from torch import Tensor, nn

from dragoman.errors import SettingsError
from dragoman.interfaces import Batch, Loss
from dragoman.laws.examples import batch, fresh_model, model_of
from dragoman.laws.of_training import resumed_equals_unbroken, trainer_of
from dragoman.layers.adapter_settings import AdapterSettings
from dragoman.layers.adapters import Adapters
from dragoman.layers.embedding import freeze_embeddings
from dragoman.models.seq2seq import Seq2Seq
from dragoman.training.checkpoint import own_tensors
from dragoman.training.objectives import translation_loss
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step
from dragoman.training.trainer import Trainer

ONE = AdapterSettings(rank=1, alpha=3)
RESUMED = ("transformer pre-norm, sinusoidal", "luong additive", "bahdanau, hard, reinforced")
BATCH = batch([5, 3, 1, 4], [4, 6, 3, 5])


def with_noise(adapters: Adapters, seed: int = 1) -> None:
    """Give corrections other values than the initial ones."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in adapters.parameters():
            part.copy_(0.3 * torch.randn(part.shape, generator=generator, dtype=part.dtype))
    adapters.merge()


def logits(model: Seq2Seq) -> Tensor:
    """What a model says."""
    return model(BATCH.source, BATCH.inputs).logits


def loss(model: Seq2Seq) -> Tensor:
    """The cross-entropy of the batch, by torch itself."""
    return F.cross_entropy(logits(model)[BATCH.real], BATCH.labels[BATCH.real])


@pytest.mark.parametrize("name", some(ARCHITECTURES, FAMILIES))
def test_new_adapters_change_nothing_and_later_ones_do(name: str) -> None:
    model = fresh_model(ARCHITECTURES[name]).eval()
    before, weights = logits(model), {key: one.clone() for key, one in own_tensors(model).items()}
    adapters = Adapters(model, ONE)
    adapters.merge()
    assert all(torch.equal(one, weights[key]) for key, one in own_tensors(model).items())
    torch.testing.assert_close(
        logits(model), before, rtol=0, atol=1e-6
    )  # memory lies elsewhere, and sums are rounded otherwise
    with_noise(adapters)
    assert not torch.allclose(logits(model), before, rtol=0, atol=1e-4)
    adapted = {name for name, one in model.named_parameters() if one.requires_grad}
    assert adapted == {name.replace("/", ".") for name in adapters.up}
    for key, one in own_tensors(model).items():
        assert torch.equal(one, weights[key]) == (key not in adapted), key


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_of_corrections_follow_from_those_of_the_weights(name: str) -> None:
    model = fresh_model(ARCHITECTURES[name]).double().eval()
    adapters = Adapters(model, ONE)
    with_noise(adapters)
    loss(model).backward()
    of_weights = [matrix.weight.grad for matrix in adapters.matrices]
    adapters.take_gradients()
    assert all(one.grad is None for one in model.parameters())
    assert any(one is not None and one.any() for one in of_weights)
    for matrix, gradient in zip(adapters.matrices, of_weights, strict=True):
        if gradient is not None:
            whole = matrix.base + adapters.scale * torch.matmul(matrix.up, matrix.down)
            for part, expected in zip(
                (matrix.up, matrix.down), torch.autograd.grad(whole, (matrix.up, matrix.down), gradient), strict=True
            ):
                torch.testing.assert_close(part.grad, expected)


@pytest.mark.parametrize("name", ["luong additive", "transformer pre-norm, sinusoidal"])
def test_the_gradient_of_a_correction_is_the_slope_of_the_loss(name: str) -> None:
    model = fresh_model(ARCHITECTURES[name]).double().eval()
    adapters = Adapters(model, ONE)
    with_noise(adapters)
    loss(model).backward()
    adapters.take_gradients()
    generator = torch.Generator().manual_seed(4)
    directions = {
        part: torch.randn(part.shape, generator=generator, dtype=part.dtype) for part in adapters.parameters()
    }
    sums = []
    for step in (1e-5, -2e-5):
        for part, direction in directions.items():
            part.data += step * direction
        adapters.merge()
        sums.append(loss(model).item())
    slope = sum((part.grad * direction).sum().item() for part, direction in directions.items() if part.grad is not None)
    assert slope == pytest.approx((sums[0] - sums[1]) / 2e-5, rel=1e-5)


@pytest.mark.parametrize("name", ["transformer pre-norm, sinusoidal", "transformer post-norm, learned"])
def test_merged_equals_unmerged(name: str) -> None:
    model, base = (fresh_model(ARCHITECTURES[name]).double().eval() for _ in range(2))
    adapters = Adapters(model, ONE)
    with_noise(adapters)

    def correction(up: Tensor, down: Tensor) -> Any:
        return lambda module, given, result: result + adapters.scale * (given[0] @ down.mT) @ up.mT

    for place in adapters.up:
        module = base.get_submodule(place.replace("/", ".").removesuffix(".weight"))
        assert isinstance(module, nn.Linear)
        module.register_forward_hook(correction(adapters.up[place], adapters.down[place]))
    assert (logits(base) - logits(model)).abs().max() < 1e-9


def test_experts_have_a_correction_each() -> None:
    model = fresh_model(ARCHITECTURES["transformer, experts"])
    adapters = Adapters(model, AdapterSettings(rank=2, where=("inner",)))
    experts, width, hidden = next(one for name, one in model.named_parameters() if name.endswith(".inner")).shape
    assert {tuple(one.shape) for one in adapters.up.values()} == {(experts, width, 2)}
    assert {tuple(one.shape) for one in adapters.down.values()} == {(experts, 2, hidden)}


def test_words_choose_matrices_and_tables_of_vectors_are_never_chosen() -> None:
    architecture = ARCHITECTURES["transformer pre-norm, learned"].model_copy(update={"relative": "t5"})
    chosen = set(Adapters(fresh_model(architecture), AdapterSettings(rank=1, where=("query", "inner"))).up)
    assert chosen and {name.split("/")[-2] for name in chosen} == {"query", "inner"}
    every = set(Adapters(fresh_model(architecture), ONE).up)
    assert chosen < every
    assert not any(word in name for name in every for word in ("embedding", "table", "head", "positions"))
    recurrent = set(
        Adapters(fresh_model(ARCHITECTURES["plain gru"]), AdapterSettings(rank=1, where=("weight_hh_l0",))).up
    )
    assert recurrent and all(name.endswith("weight_hh_l0") for name in recurrent)


def test_words_that_name_nothing_and_ranks_that_save_nothing_are_refused() -> None:
    model = fresh_model(ARCHITECTURES["transformer pre-norm, sinusoidal"])
    with pytest.raises(SettingsError, match=r"`model\.adapters\.where` names `querry`.*`query`"):
        Adapters(model, AdapterSettings(where=("querry",)))
    with pytest.raises(SettingsError, match=r"`model\.adapters\.rank` is 64.*smaller"):
        Adapters(model, AdapterSettings(rank=64))
    assert all(one.requires_grad for one in model.parameters())


def test_alpha_scales_the_correction_and_is_the_rank_by_default() -> None:
    changes = []
    for alpha in (None, 2.0, 4.0):
        model = deepcopy(model_of(ARCHITECTURES["transformer pre-norm, sinusoidal"])).double()
        weight = model.get_parameter("encoder.layers.0.attention.query.weight")
        before = weight.detach().clone()
        adapters = Adapters(model, AdapterSettings(rank=2, alpha=alpha))
        with_noise(adapters)
        changes.append(weight.detach() - before)
        with torch.no_grad():
            for matrix in adapters.matrices:
                matrix.weight.copy_(matrix.base)
    torch.testing.assert_close(changes[0], changes[1])
    torch.testing.assert_close(2 * changes[0], changes[2])


def adapted_trainer(name: str, folder: Path, **settings: Any) -> Trainer:
    """Return a trainer of adapters of a new model, the same at every call."""
    given = {"epochs": 2, "batch_tokens": 60, "warmup": 2, "validate_every": 3, "log_every": 1, **settings}
    trainer = trainer_of(ARCHITECTURES[name], folder, settings=TrainingSettings(**given))
    trainer.use_adapters(Adapters(trainer.model, AdapterSettings(rank=2)))
    return trainer


@pytest.mark.parametrize("name", some(FAMILIES, FAMILIES[::4]))
def test_a_step_changes_adapters_alone(name: str, tmp_path: Path) -> None:
    trainer = adapted_trainer(name, tmp_path / "run", weight_decay=0.1, learning_rate=0.1)
    before = {key: one.detach().clone() for key, one in trainer.model.named_parameters()}
    first = {key: one.detach().clone() for key, one in trainer.trained.named_parameters()}
    trainer.run()
    trainer.stream.close()
    assert trainer.adapters is not None
    for key, weight in trainer.model.named_parameters():
        place = key.replace(".", "/")
        if place in trainer.adapters.up:
            expected = before[key] + trainer.adapters.up[place] @ trainer.adapters.down[place]
            torch.testing.assert_close(weight, expected)
        else:
            assert torch.equal(weight, before[key]), key
    changed = [key for key, one in trainer.trained.named_parameters() if not torch.equal(one, first[key])]
    assert len(changed) > len(first) // 2
    saved = trainer.files.load(trainer.files.weights)[0]
    assert set(saved) == set(own_tensors(trainer.adapters))


@pytest.mark.parametrize("name", some(RESUMED, RESUMED[:1]))
@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_a_resumed_run_equals_an_unbroken_one_bit_for_bit(name: str, ema: float, tmp_path: Path) -> None:
    resumed_equals_unbroken(lambda folder: adapted_trainer(name, folder, ema=ema), tmp_path, [2, 3])


def test_replicas_give_the_same_gradients(tmp_path: Path) -> None:
    gradients = []
    for count in (1, 2):
        trainer = adapted_trainer("transformer pre-norm, sinusoidal", tmp_path / f"run{count}")
        assert trainer.adapters is not None
        with_noise(trainer.adapters)
        trainer.model.eval()
        if count > 1:
            trainer.use_replicas(count)
        train_step(
            trainer.model,
            trainer.objective,
            torch.optim.SGD(trainer.adapters.parameters(), lr=0.0),
            batches=[BATCH],
            clip=1e9,
            compute=Compute(trainer.precision, trainer.replicas, trainer.adapters),
        )
        gradients.append([one.grad for one in trainer.adapters.parameters()])
        trainer.stream.close()
        if trainer.replicas is not None:
            trainer.replicas.close()
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_a_step_that_failed_half_way_leaves_nothing_in_the_next(tmp_path: Path) -> None:
    """As where memory runs out in the second batch, and the step is repeated with smaller parts."""
    trainer = adapted_trainer("transformer pre-norm, sinusoidal", tmp_path / "run")
    assert trainer.adapters is not None
    with_noise(trainer.adapters)
    trainer.model.eval()
    left = [1, 0]

    def objective(model: Seq2Seq, pairs: Batch) -> Loss:
        if left and left.pop() > 0:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return translation_loss(model, pairs)

    step = partial(
        train_step,
        trainer.model,
        objective,
        torch.optim.SGD(trainer.adapters.parameters(), lr=0.0),
        batches=[BATCH, BATCH],
        clip=1e9,
        compute=Compute(adapters=trainer.adapters),
    )
    with pytest.raises(torch.OutOfMemoryError):
        step()
    assert step().norm == pytest.approx(step().norm)
    trainer.stream.close()


def test_averaged_adapters_are_what_is_validated(tmp_path: Path) -> None:
    trainer = adapted_trainer("transformer pre-norm, sinusoidal", tmp_path / "run", ema=0.5)
    assert trainer.adapters is not None and trainer.average is not None
    with_noise(trainer.adapters, 1)
    own = logits(trainer.model.eval())
    for step in range(30):
        trainer.average.follow(step)
    with_noise(trainer.adapters, 2)
    other = logits(trainer.model)
    with trainer.average.in_use():
        torch.testing.assert_close(logits(trainer.model), own, atol=1e-3, rtol=1e-3)
    assert torch.equal(logits(trainer.model), other)
    trainer.stream.close()


def test_frozen_embeddings_have_no_gradient_and_everything_else_has() -> None:
    for name in ("transformer pre-norm, sinusoidal", "luong additive", "convs2s dot"):
        model = fresh_model(ARCHITECTURES[name])
        freeze_embeddings(model)
        loss(model).backward()
        frozen = {name for name, one in model.named_parameters() if not one.requires_grad}
        assert frozen and all("embedding" in name or "tokens" in name for name in frozen)
        assert all((one.grad is None) == (name in frozen) for name, one in model.named_parameters())
