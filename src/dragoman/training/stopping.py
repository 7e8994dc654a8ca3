"""Stop training on a signal: Ctrl-C, SIGTERM, or a closed terminal (SIGHUP)."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dragoman.training.reports import Silent
from dragoman.training.trainer import Trainer, ValidationInterrupt

HANGUP = getattr(signal, "SIGHUP", None)
"""The signal of a closed terminal; Windows has none."""


@contextmanager
def stops_when_asked(trainer: Trainer) -> Iterator[None]:
    """Let a signal stop training after the current step, or at once in a validation; a second Ctrl-C or SIGTERM kills it.

    The signal is stored in `trainer.progress.stopped_by`. SIGHUP is left alone if it is ignored, as under `nohup`.
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
        sentence = "Stopping and saving now." if trainer.validating else "Stopping and saving after this step."
        try:
            trainer.listener.say(f"{sentence} (Press again to stop immediately.)")
        except OSError:  # the terminal is gone, but the step is still saved
            trainer.listener = Silent()
        if trainer.validating:
            raise ValidationInterrupt

    signals = [signal.SIGINT, signal.SIGTERM]
    if HANGUP is not None and signal.getsignal(HANGUP) is not signal.SIG_IGN:
        signals.append(HANGUP)
    before: dict[int, Any] = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
