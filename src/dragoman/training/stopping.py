"""How training is asked to stop: Ctrl-C, SIGTERM, or a terminal that is closed (SIGHUP)."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dragoman.training.reports import Silent
from dragoman.training.trainer import Trainer

HANGUP = getattr(signal, "SIGHUP", None)
"""What a terminal sends when it is closed; Windows has no such signal."""


@contextmanager
def stops_when_asked(trainer: Trainer) -> Iterator[None]:
    """Let a signal end training after the current step; a second Ctrl-C or SIGTERM ends it at once.

    Which signal it was stands in `trainer.progress.stopped_by`. SIGHUP is left alone where it is ignored, as under `nohup`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        if trainer.stop_requested:
            if number == HANGUP:  # shell and system may both send it
                return
            raise KeyboardInterrupt
        trainer.stop_requested = True
        trainer.progress.stopped_by = number
        try:
            trainer.listener.say("Stopping after this step, and saving. (Once more to stop at once.)")
        except OSError:  # nobody can be told any more, but the step is still saved
            trainer.listener = Silent()

    signals = [signal.SIGINT, signal.SIGTERM]
    if HANGUP is not None and signal.getsignal(HANGUP) is not signal.SIG_IGN:
        signals.append(HANGUP)
    before: dict[int, Any] = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
