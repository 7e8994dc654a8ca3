"""Signals end a command with everything cleaned up, and with exit codes of their own."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
import typer
from tests.tiny import dragoman

from dragoman.atomic import replacing
from dragoman.cli import main as cli
from dragoman.cli.signals import signals_as_interrupts


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=lambda value: str(value),
)
def test_a_signal_ends_a_command_with_its_code_and_nothing_half_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number, code
):
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def write() -> None:
        with replacing(tmp_path / "out") as temporary:
            temporary.write_text("half", encoding="utf-8")
            os.kill(os.getpid(), number)
            time.sleep(5)

    monkeypatch.setattr(cli, "app", app)
    before = signal.getsignal(number)
    found = dragoman()
    assert (found.code, found.output, found.errors) == (code, "", "")
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(number) is before


def test_an_ignored_signal_stays_ignored(monkeypatch: pytest.MonkeyPatch):
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def go_on() -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        print("a result")

    monkeypatch.setattr(cli, "app", app)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert dragoman().output == "a result\n"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_exit_code_of_a_command_that_was_stopped_is_kept() -> None:
    with pytest.raises(SystemExit) as end, signals_as_interrupts():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except KeyboardInterrupt:
            raise SystemExit(2) from None
    assert end.value.code == 2


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def look() -> None:
        with signals_as_interrupts():
            seen.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]
