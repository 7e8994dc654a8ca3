"""How training is asked to end: Ctrl-C, or SIGTERM."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dragoman.training.reports import Listener
from dragoman.training.trainer import Trainer


@contextmanager
def stops_when_asked(trainer: Trainer, listener: Listener) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end training after the step under way; a second one ends at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        if trainer.stop_requested:
            raise KeyboardInterrupt
        trainer.stop_requested = True
        listener.say("Stopping after this step, and saving. (Once more to stop at once.)")

    signals = (signal.SIGINT, signal.SIGTERM)
    before: dict[int, Any] = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
