"""The number of threads is chosen by the clock, and the probe leaves no trace."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.interfaces import Batch, Padded
from dragoman.laws.examples import source, target
from dragoman.machine.cores import CoreWatch
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Vocabularies
from dragoman.training.files import RunFiles
from dragoman.training.objectives import build_objective
from dragoman.training.reports import Silent
from dragoman.training.settings import TrainingSettings
from dragoman.training.threads import SpreadThreads, probe_threads
from dragoman.training.trainer import Trainer


class Stream:
    """One batch again and again."""

    def __init__(self) -> None:
        self.place = 4

    def __next__(self) -> Batch:
        self.place += 1
        ids = target(2, 4)
        return Batch(source([5, 3]), Padded(ids, torch.ones_like(ids, dtype=torch.bool)))

    epochs_done = 0.0

    def close(self) -> None:
        """Nothing is made in the background."""

    @property
    def position(self) -> dict[str, int]:
        return {"index": self.place}

    def seek(self, position: dict[str, int]) -> None:
        self.place = position["index"]


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    model = build_rnn(RecurrentSettings(embedding=6, hidden=8), Vocabularies(13, 17))
    return Trainer(
        model,
        build_objective,
        Stream(),
        settings=TrainingSettings(steps=1),
        precision="float32",
        files=RunFiles(tmp_path),
        validate=lambda model: {},
        listener=Silent(),
    )


def clock_of(factor: dict[int, float]) -> Any:
    """Return a clock by which a pass takes as long as `factor` says for the number of threads."""
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += factor[torch.get_num_threads()]
        return now

    return clock


@pytest.mark.parametrize(("one", "three", "chosen"), [(1.0, 2.0, 1), (2.0, 1.0, 3), (0.95, 1.0, 3), (1.0, 1.0, 3)])
def test_one_thread_is_chosen_where_it_is_clearly_faster(
    trainer: Trainer, one: float, three: float, chosen: int
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert probe_threads(trainer, clock=clock_of({1: one, 3: three})) == chosen
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_the_probe_leaves_no_trace(trainer: Trainer) -> None:
    before, threads = {name: t.clone() for name, t in trainer.model.state_dict().items()}, torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        probe_threads(trainer)
    finally:
        torch.set_num_threads(threads)
    assert trainer.stream.position == {"index": 4}
    assert all(torch.equal(before[name], t) for name, t in trainer.model.state_dict().items())
    assert all(parameter.grad is None for parameter in trainer.model.parameters())


class Together(CoreWatch):
    """A watch that finds threads on one core at its second look."""

    def __init__(self) -> None:
        super().__init__(2)
        self.looks, self.closed = 0, False

    def step(self) -> bool:
        self.looks += 1
        return self.looks == 2

    def close(self) -> None:
        self.closed = True


def test_threads_are_watched_while_everything_is_passed_on() -> None:
    class Heard(Silent):
        heard: list[Any]

        def __init__(self) -> None:
            self.heard = []

        def progress(self, record: Any) -> None:
            self.heard.append(record)

        def record(self, record: Any) -> None:
            self.heard.append(record)

        def say(self, sentence: str) -> None:
            self.heard.append(sentence)

        def close(self) -> None:
            self.heard.append("closed")

    heard, watch = Heard(), Together()
    spread = SpreadThreads(heard, watch)
    for step in range(3):
        spread.progress({"step": step})
    spread.record({"dev_loss": 1.0})
    spread.close()
    told = "2 threads shared a core while others were free; each has its own now."
    assert heard.heard == [{"step": 0}, {"step": 1}, told, {"step": 2}, {"dev_loss": 1.0}, "closed"] and watch.closed
