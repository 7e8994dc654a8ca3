"""The moving average of the weights: its equation, its place in training, and a checkpoint without it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from torch import nn

from dragoman.errors import RunError
from dragoman.laws.of_training import trainer_of
from dragoman.training.checkpoint import load_tensors, own_tensors
from dragoman.training.ema import WeightAverage, decay_at
from dragoman.training.settings import TrainingSettings
from dragoman.training.trainer import Trainer

Make = Callable[..., Trainer]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a trainer of a small model whose weights are averaged, unless told otherwise."""

    def trainer(name: str = "plain gru", ema: float = 0.9, **settings: object) -> Trainer:
        torch.manual_seed(1)
        given = {"batch_tokens": 40, "precision": "float32", "warmup": 0, "learning_rate": 0.05, "ema": ema, **settings}
        return trainer_of(ARCHITECTURES[name], tmp_path / f"{ema}", settings=TrainingSettings(**given))

    return trainer


@pytest.mark.parametrize("decay", [0.0, 0.3, 0.999])
def test_the_average_is_the_recurrence(decay: float) -> None:
    model = nn.Linear(2, 2)
    average = WeightAverage(model, decay)
    expected = {name: weight.detach().double() for name, weight in model.named_parameters()}
    for step in range(1, 30):
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight))
        average.follow(step)
        now = decay_at(step, decay)
        expected = {name: now * expected[name] + (1 - now) * weight for name, weight in model.named_parameters()}
        for name, value in expected.items():
            torch.testing.assert_close(average.averages[name], value.float())


def test_the_model_has_its_own_weights_again_bit_for_bit_even_after_an_error() -> None:
    model = nn.Linear(2, 2)
    average = WeightAverage(model, 0.5)
    with torch.no_grad():
        model.weight.mul_(3.3)
    own = model.weight.clone()
    with pytest.raises(RuntimeError, match=r"planted"), average.in_use():
        assert torch.equal(model.weight, average.averages["weight"]) and not torch.equal(model.weight, own)
        raise RuntimeError("planted")
    assert torch.equal(model.weight, own)


def test_what_is_validated_and_kept_is_the_average(make: Make) -> None:
    trainer = make(steps=6, validate_every=3)
    seen = []

    def validate(model: nn.Module) -> dict[str, float]:
        seen.append({name: tensor.clone() for name, tensor in own_tensors(model).items()})
        return {"dev_loss": 1.0, "dev_bleu": float(len(seen))}

    trainer.validate = validate
    trainer.run()
    trainer.stream.close()
    assert trainer.average is not None
    best, _ = load_tensors(trainer.files.weights)
    kept, _ = load_tensors(trainer.files.kept_at(6))
    for name, tensor in trainer.average.averages.items():
        assert (
            torch.equal(tensor, seen[-1][name]) and torch.equal(best[name], tensor) and torch.equal(kept[name], tensor)
        )
        assert not torch.equal(tensor, own_tensors(trainer.model)[name])


def test_the_first_step_counts_as_step_1(make: Make) -> None:
    trainer = make(steps=1, validate_every=1)
    first = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
    trainer.run()
    trainer.stream.close()
    assert trainer.average is not None
    for name, weight in trainer.model.named_parameters():
        expected = first[name].lerp(weight.detach(), 1 - decay_at(1, 0.9))
        torch.testing.assert_close(trainer.average.averages[name], expected)


def test_averaging_does_not_change_training(make: Make) -> None:
    averaged, plain = (make(ema=ema, steps=4, validate_every=2) for ema in (0.9, 0.0))
    for trainer in (averaged, plain):
        torch.manual_seed(2)
        trainer.run()
        trainer.stream.close()
    assert plain.average is None
    for name, tensor in own_tensors(plain.model).items():
        assert torch.equal(own_tensors(averaged.model)[name], tensor)


def test_a_checkpoint_without_an_average_is_refused(make: Make) -> None:
    trainer = make(steps=2)
    assert trainer.average is not None
    for tensors in ({}, {name: average[:1] for name, average in trainer.average.averages.items()}):
        with pytest.raises(RunError, match=r"last\.safetensors .*`training\.ema`.* --out"):
            trainer.average.restore(tensors, trainer.files.last)
    trainer.stream.close()
