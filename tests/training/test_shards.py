"""Processes that divide the weights, two or one alone, take the steps of undivided training, and write what it writes."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as distributed
from tests.end_to_end.processes import run_together
from tests.laws.architectures import FAMILIES, transformer
from tests.slow import some
from tests.training.test_splitting import MORE, PAIRS, SPLITTABLE, gradients, without_dropout
from torch import Tensor
from torch.optim import SGD

from dragoman.interfaces import EOS, UNK, Batch
from dragoman.laws.examples import VOCABULARY
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.special_ids import SpecialIds
from dragoman.training.checkpoint import load_tensors, own_tensors, save_tensors
from dragoman.training.ema import WeightAverage
from dragoman.training.files import RunFiles
from dragoman.training.objectives import translation_loss
from dragoman.training.optimizers import build_optimizer
from dragoman.training.progress import Progress
from dragoman.training.replicas import parts_of
from dragoman.training.settings import TrainingSettings
from dragoman.training.shards import Shards, is_divided, local, nothing, share_of, whole
from dragoman.training.state import load_state, part_of, restore_optimizer, save_state
from dragoman.training.step import Compute, StepResult, target_tokens, train_step
from dragoman.training.world import ALONE, World, joined

OBJECTIVE = partial(translation_loss, smoothing=0.1)
BATCHES = [PAIRS, MORE, parts_of(PAIRS, 6)[0]]
"""The last has a single row, so that one of two processes has nothing to do."""
TOKENS = target_tokens(BATCHES)
OPTIMISED = "transformer pre-norm, sinusoidal"
AT_ONCE = "transformer, gathered at once"
WHAT = {
    "one": ((OPTIMISED,), ("muon",)),
    "all": ((*FAMILIES, AT_ONCE), ("adam", "nesterov")),
}
STEPS = 3


class Place:
    """A stream that knows where it is."""

    def __init__(self) -> None:
        self.position: dict[str, Any] = {"epoch": 0, "index": 0}
        self.epochs_done = 0.0

    def seek(self, position: dict[str, Any]) -> None:
        """Move."""
        self.position = position


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """Compute in float64."""
    with double():
        yield


def settings(optimizer: str) -> TrainingSettings:
    """Return settings of training with an optimiser."""
    momentum = {"momentum": 0.9} if optimizer == "nesterov" else {}
    decay = {} if optimizer == "adam" else {"weight_decay": 0.1}
    return TrainingSettings(steps=STEPS, optimizer=optimizer, **momentum, **decay)


def stepped(model: Any, objective: Any, optimizer: Any, world: World = ALONE, *, clip: float = 1e9) -> StepResult:
    """Take a step."""
    own = world.share(BATCHES)
    idle: list[Batch] = [BATCHES[2]] * (world.turns(BATCHES) - len(own))
    compute = Compute(world=world, idle=idle)
    return train_step(model, objective, optimizer, batches=own, clip=clip, compute=compute, tokens=TOKENS)


def sums(result: StepResult) -> list[float]:
    """Return the numbers of a step."""
    return [result.total, result.plain, result.tokens, result.norm]


def of_one_process(name: str) -> tuple[list[float], dict[str, Tensor]]:
    """Return the sums and the gradient of a step by one process that changes no weights."""
    model = without_dropout(name)
    return sums(stepped(model, OBJECTIVE, SGD(model.parameters(), lr=0.0))), gradients(model)


def optimised(model: Any, kind: str, step: Callable[[Any], object], files: RunFiles, *, writes: bool = True) -> None:
    """Take some steps with an average of the weights, and save all."""
    optimizer, average = build_optimizer(model, settings(kind)), WeightAverage(model, 0.9)
    for number in range(STEPS):
        step(optimizer)
        average.follow(number)
    save_state(files, model, optimizer, progress=Progress(), stream=Place(), average=average, writes=writes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Written:
    """What one or two processes have computed, and where it is."""

    place: Path
    size: int
    families: Sequence[str]
    optimizers: Sequence[str]


@contextmanager
def double() -> Iterator[None]:
    """Compute in float64."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module", params=["alone", *some(WHAT, ())])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Let two processes, or this one with a group of its own, compute everything that the tests look at."""
    place = tmp_path_factory.mktemp("shards")
    if request.param == "alone":
        distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
        try:
            with double():
                compute(place, ALONE, *WHAT["one"])
        finally:
            distributed.destroy_process_group()
        return Written(place, 1, *WHAT["one"])
    found = run_together(2, "tests.training.test_shards", str(place), request.param)
    assert [one.returncode for one in found] == [0, 0], [one.stderr[-3000:] for one in found]
    return Written(place, 2, *WHAT[request.param])


def test_loss_and_gradient_are_those_of_one_process(written: Written) -> None:
    for name in written.families:
        compare_steps(written.place, name, written.size)


def compare_steps(written: Path, name: str, size: int) -> None:
    """Compare a step with that of one process."""
    model = OPTIMISED if name == AT_ONCE else name
    wanted, gradient = of_one_process(model)
    found = [json.loads((written / f"{name} {rank}.json").read_text()) for rank in range(size)]
    assert found[0]["sums"] == found[-1]["sums"] == pytest.approx(wanted, rel=1e-9)
    assert sum(one["numbers"] for one in found) == sum(one.numel() for one in without_dropout(model).parameters())
    tensors = load_tensors(written / f"{name}.safetensors")[0]
    assert tensors.keys() == gradient.keys()
    for part, value in gradient.items():
        torch.testing.assert_close(tensors[part], value, rtol=1e-6, atol=1e-9)


def test_weights_optimiser_and_average_are_saved_as_by_one_process(written: Written, tmp_path: Path) -> None:
    for optimizer in written.optimizers:
        compare_states(written.place, tmp_path / optimizer, optimizer)


def compare_states(written: Path, tmp_path: Path, optimizer: str) -> None:
    """Compare what two processes have saved with what one saves."""
    model, files = without_dropout(OPTIMISED), RunFiles(tmp_path)
    optimised(model, optimizer, partial(stepped, model, OBJECTIVE, clip=0.1), files)
    wanted, found = (load_tensors(one.last)[0] for one in (files, RunFiles(written / optimizer)))
    wanted, found = ({name: one for name, one in of.items() if "random" not in name} for of in (wanted, found))
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, rtol=1e-6, atol=1e-8)


def test_what_was_saved_is_divided_again(written: Written) -> None:
    """The processes went on for a step from what one of them had written, and so does one."""
    for optimizer in written.optimizers:
        compare_next_step(written.place, optimizer)


def compare_next_step(written: Path, optimizer: str) -> None:
    """Compare the weights after one more step."""
    model, files = without_dropout(OPTIMISED), RunFiles(written / optimizer)
    _, tensors = load_state(files, model, Place())  # type: ignore[arg-type]
    restored = build_optimizer(model, settings(optimizer))
    restore_optimizer(restored, tensors, files.last)
    stepped(model, OBJECTIVE, restored)
    found = load_tensors(written / f"{optimizer} on.safetensors")[0]
    for name, value in own_tensors(model).items():
        torch.testing.assert_close(found[name], value, rtol=1e-6, atol=1e-9)


def test_a_model_that_gave_its_weights_away_keeps_shapes_and_zeros_alone(written: Written) -> None:
    found = json.loads((written.place / "hollow.json").read_text())
    assert found == {"shapes": True, "bytes": 8, "whole": True, "emptied": True, "others": False, "zeros": True}


def test_what_is_not_divided_stays_as_it_is() -> None:
    tensor = torch.ones(3, 2)
    assert not is_divided(tensor)
    assert whole(tensor) is local(tensor) is share_of(tensor, torch.zeros(3, 2)) is tensor


def test_nothing_has_no_loss_and_no_gradient() -> None:
    model: Seq2Seq = without_dropout("gnmt")
    loss = nothing(OBJECTIVE)(model, PAIRS)
    loss.total.backward()
    assert (loss.total, loss.tokens, loss.plain) == (0, 0, 0)
    assert all(not gradient.any() for gradient in gradients(model).values())


def compute_families(place: Path, world: World, families: Sequence[str]) -> None:
    """Take a step of each family, and of a Transformer whose blocks are gathered at once."""
    for name in families:
        model = OPTIMISED if name == AT_ONCE else name
        own = World(world.rank, world.size, by_rows=model in SPLITTABLE)
        shards = Shards(without_dropout(model), by_blocks=name != AT_ONCE)
        result = stepped(None, shards.computing(OBJECTIVE), SGD(shards.model.parameters(), lr=0.0), own)
        parameters = dict(shards.model.named_parameters())
        numbers = sum(local(one).numel() for one in parameters.values())
        (place / f"{name} {world.rank}.json").write_text(json.dumps({"sums": sums(result), "numbers": numbers}))
        full = {part: whole(one.grad) for part, one in parameters.items() if one.grad is not None}
        if world.is_first:
            save_tensors(place / f"{name}.safetensors", full)


def compute_optimisers(place: Path, world: World, optimizers: Sequence[str]) -> None:
    """Take some steps with each optimiser, save, and go on from what was saved."""
    for kind in optimizers:
        files = RunFiles(place / kind)
        shards = Shards(without_dropout(OPTIMISED), by_blocks=True)
        step = partial(stepped, None, shards.computing(OBJECTIVE), world=world, clip=0.1)
        optimised(shards.model, kind, step, files, writes=world.is_first)
        world.agree()
        model = without_dropout(OPTIMISED)
        _, tensors = load_state(files, model, Place())  # type: ignore[arg-type]
        again = Shards(model, by_blocks=True)
        optimizer, average = build_optimizer(again.model, settings(kind)), WeightAverage(again.model, 0.9)
        restore_optimizer(optimizer, tensors, files.last)
        average.restore(part_of(tensors, "average."), files.last)
        assert all(whole(one).equal(tensors[f"average.{name}"]) for name, one in average.averages.items())
        stepped(None, again.computing(OBJECTIVE), optimizer, world)
        full = {name: whole(one) for name, one in own_tensors(again.model).items()}
        if world.is_first:
            save_tensors(place / f"{kind} on.safetensors", full)


def look_into(place: Path, world: World) -> None:
    """Write what becomes of a model that gives its weights away."""
    model, same = without_dropout(OPTIMISED), without_dropout(OPTIMISED)
    shards = Shards(model, by_blocks=True)
    pairs = list(zip(model.parameters(), same.parameters(), strict=True))
    report = {
        "shapes": all(one.shape == other.shape for one, other in pairs),
        "bytes": max(one.untyped_storage().nbytes() for one in model.parameters()),
    }
    with shards.whole_again(keep=world.is_first):
        report["whole"] = all(one.equal(other) for one, other in pairs)
    report["emptied"] = all(one.isnan().all().item() for one in model.parameters())
    with shards.whole_again(keep=not world.is_first):
        report["others"] = any(one.equal(other) for one, other in pairs)
    report["zeros"] = start_is_kept(world)
    if world.is_first:
        (place / "hollow.json").write_text(json.dumps(report))


def start_is_kept(world: World) -> bool:
    """Tell whether a start of zeros, as Marian's, is what it was after some steps, unlike the rows beside it."""
    special = SpecialIds(pad=5, bos=5, eos=EOS, unk=UNK, mask=5)
    sizes = Vocabularies(VOCABULARY, VOCABULARY, shared=True, special=special)
    model = build_model(transformer(dropout=0.0, output_bias=True), sizes)
    shards = Shards(model, by_blocks=True)
    optimizer = build_optimizer(shards.model, settings("muon"))
    for _ in range(STEPS):
        stepped(None, shards.computing(OBJECTIVE), optimizer, world)
    rows = whole(dict(shards.model.named_parameters())["encoder.embedding.weight"].detach())
    return not rows[5].any() and bool(rows[:5].all())


def compute(place: Path, world: World, families: Sequence[str], optimizers: Sequence[str]) -> None:
    """Compute and write everything that the tests look at."""
    compute_families(place, world, families)
    compute_optimisers(place, world, optimizers)
    look_into(place, world)


if __name__ == "__main__":
    with double(), joined(torch.device("cpu")) as together:
        compute(Path(sys.argv[1]), together, *WHAT[sys.argv[2]])
