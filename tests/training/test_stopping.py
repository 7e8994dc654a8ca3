"""Signals that end training after the current step."""

import os
import signal

import pytest

from dragoman.training.progress import Progress
from dragoman.training.reports import Silent
from dragoman.training.stopping import stops_when_asked
from dragoman.training.trainer import Trainer, ValidationInterrupt


class Gone(Silent):
    """A terminal that was closed."""

    def say(self, sentence: str) -> None:
        raise OSError(5, "Input/output error")


class Fake(Trainer):
    """A trainer of nothing."""

    def __init__(self) -> None:
        self.stop_requested, self.validating, self.progress, self.listener = False, False, Progress(), Silent()


@pytest.fixture
def trainer() -> Trainer:
    """Make a trainer of nothing."""
    return Fake()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_asks_training_to_stop_and_is_remembered(trainer: Trainer, number: int) -> None:
    before = signal.getsignal(number)
    with stops_when_asked(trainer):
        os.kill(os.getpid(), number)
        assert trainer.stop_requested
    assert trainer.progress.stopped_by == number
    assert signal.getsignal(number) is before
    assert "stopped_by" not in trainer.progress.to_json()


def test_a_validation_is_interrupted_at_once(trainer: Trainer) -> None:
    trainer.validating = True
    with pytest.raises(ValidationInterrupt), stops_when_asked(trainer):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError
    assert trainer.stop_requested


def test_a_second_signal_stops_at_once(trainer: Trainer) -> None:
    with pytest.raises(KeyboardInterrupt), stops_when_asked(trainer):
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)  # shell and system both send it
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError


def test_a_terminal_that_is_gone_does_not_lose_the_work(trainer: Trainer) -> None:
    trainer.listener = Gone()
    with stops_when_asked(trainer):
        os.kill(os.getpid(), signal.SIGHUP)
    assert trainer.stop_requested
    trainer.listener.say("nobody hears it")


def test_what_nohup_ignores_stays_ignored(trainer: Trainer) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stops_when_asked(trainer):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert not trainer.stop_requested
