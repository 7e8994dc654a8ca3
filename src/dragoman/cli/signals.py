"""How SIGTERM and SIGHUP end a command: like Ctrl-C, with everything cleaned up, but with their own exit codes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 128 + signal.SIGINT
"""Exit code of a command that Ctrl-C ended."""


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM and SIGHUP too, so that what Ctrl-C saves and removes is saved and removed.

    Where that ends the command, the exit code is 128 + the signal. A signal that is ignored, as under nohup, stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    replaced = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, interrupt)
    try:
        yield
    except SystemExit as end:
        if received and end.code == INTERRUPTED:
            raise SystemExit(128 + received[0]) from None
        raise
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)
