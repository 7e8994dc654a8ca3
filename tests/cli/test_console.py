"""What commands show on standard error."""

import io
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from dragoman.cli import console
from dragoman.cli.console import ConsoleListener, ProgressDisplay, announced, note, print_path, validation_text

STEP = {
    "share": 0.5,
    "step": 10,
    "loss": 2.0,
    "perplexity": 7.4,
    "learning_rate": 1e-3,
    "tokens_per_second": 1234.5,
    "padding": 0.021,
    "seconds_left": None,
}
VALIDATION = {"step": 1000, "seconds": 61.0, "dev_loss": 1.5, "dev_bleu": 12.34}


class Terminal(io.StringIO):
    """A text that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def write_to_text(display: ProgressDisplay, *, terminal: bool) -> io.StringIO:
    """Let a display write into a text."""
    text = io.StringIO()
    display.console = Console(file=text, force_terminal=terminal, width=300, highlight=False)
    display.every = 15.0
    display.live = Live(console=display.console, auto_refresh=False, transient=True) if terminal else None
    return text


def test_plain_progress_is_shown_now_and_then(monkeypatch: pytest.MonkeyPatch):
    listener = ConsoleListener()
    text = write_to_text(listener.display, terminal=False)
    for second in (100.0, 101.0, 200.0):
        monkeypatch.setattr(console.time, "monotonic", lambda second=second: second)
        listener.progress(STEP)
    listener.close()
    shown = text.getvalue().split("\n")
    assert len(shown) == 3
    assert shown[0] == " 50%  step 10  loss 2.000  ppl 7.40  lr 1.0e-03  1,234 tok/s  padding 2.1%  ? left"


def test_a_terminal_gets_a_line_that_goes_away_for_what_stays():
    display = ProgressDisplay()
    text = write_to_text(display, terminal=True)
    display.show("half", share=0.5)
    assert display.live is not None and display.live.is_started and "half" in text.getvalue()
    display.show("not yet", share=0.6)
    assert "not yet" not in text.getvalue()
    display.show("all", final=True)
    assert not display.live.is_started
    assert text.getvalue().endswith("all\n")


def test_validations_are_shown_and_other_records_not():
    listener = ConsoleListener()
    text = write_to_text(listener.display, terminal=False)
    listener.record(STEP)
    listener.record(VALIDATION)
    assert text.getvalue() == "      step 1,000  1:01  dev loss 1.500  dev BLEU 12.3\n"


def test_weights_that_are_kept_and_averages_are_marked():
    assert validation_text(VALIDATION | {"best": True}).endswith("  kept")
    assert validation_text(VALIDATION | {"averaged": 5}).endswith("  average of 5 checkpoints")


def test_each_direction_has_its_score():
    text = validation_text(VALIDATION | {"dev_bleu": 30.0, "dev_bleu_en-fr": 20.0, "dev_bleu_fr-en": 40.04})
    assert text.endswith("dev BLEU 30.0 (en-fr 20.0, fr-en 40.0)")


def test_sentences_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]):
    ConsoleListener().say("Resuming [step] 5 of data/:cat:.en")
    assert capsys.readouterr().err == "Resuming [step] 5 of data/:cat:.en\n"


def test_notes_go_to_standard_error(capsys: pytest.CaptureFixture[str]):
    note("Saved.")
    assert capsys.readouterr() == ("", "Saved.\n")


@pytest.mark.parametrize(
    ("stream", "seconds", "shown"),
    [(Terminal, 0.0, "Loading runs/x ...\n"), (Terminal, 60.0, ""), (io.StringIO, 0.0, "")],
    ids=["slow", "quick", "not a terminal"],
)
def test_a_terminal_is_told_what_takes_long(monkeypatch: pytest.MonkeyPatch, stream, seconds, shown):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr(console, "SILENT_SECONDS", seconds)
    with announced("Loading runs/x"):
        ends = time.monotonic() + 5
        while sys.stderr.getvalue() != shown and time.monotonic() < ends:
            time.sleep(0.001)
    assert sys.stderr.getvalue() == shown


def test_a_path_is_printed_byte_for_byte(capfdbinary: pytest.CaptureFixture[bytes]):
    print_path(Path("r\udcfen") / "tiếng")
    assert capfdbinary.readouterr().out == b"r\xfen/ti\xe1\xba\xbfng\n"
