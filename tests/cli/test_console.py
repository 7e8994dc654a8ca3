"""What training shows on standard error."""

import io

import pytest
from rich.console import Console
from rich.live import Live

from dragoman.cli import console
from dragoman.cli.console import ConsoleListener, note, validation_text

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


def listen(terminal: bool) -> tuple[ConsoleListener, io.StringIO]:
    """Return a listener that writes into a text."""
    listener, text = ConsoleListener(), io.StringIO()
    listener.console = Console(file=text, force_terminal=terminal, width=300, highlight=False)
    if terminal:
        listener.live = Live(console=listener.console, auto_refresh=False, transient=True)
    return listener, text


def test_plain_progress_is_shown_now_and_then(monkeypatch: pytest.MonkeyPatch):
    listener, text = listen(terminal=False)
    for second in (100.0, 101.0, 200.0):
        monkeypatch.setattr(console.time, "monotonic", lambda second=second: second)
        listener.progress(STEP)
    listener.close()
    shown = text.getvalue().split("\n")
    assert len(shown) == 3
    assert shown[0] == " 50%  step 10  loss 2.000  ppl 7.40  lr 1.0e-03  1,234 tok/s  padding 2.1%  ? left"


def test_a_terminal_gets_a_line_that_goes_away():
    listener, text = listen(terminal=True)
    listener.progress(STEP)
    listener.progress(STEP)
    assert listener.live is not None and listener.live.is_started
    listener.close()
    assert not listener.live.is_started
    assert "step 10" in text.getvalue()


def test_validations_are_shown_and_other_records_not():
    listener, text = listen(terminal=False)
    listener.record(STEP)
    listener.record(VALIDATION)
    assert text.getvalue() == "      step 1,000  1:01  dev loss 1.500  dev BLEU 12.3\n"


def test_the_best_validation_and_averages_are_marked():
    assert validation_text(VALIDATION | {"best": True}).endswith("  best so far")
    assert validation_text(VALIDATION | {"averaged": 5}).endswith("  average of 5 checkpoints")


def test_sentences_are_shown_as_they_are():
    listener, text = listen(terminal=False)
    listener.say("Going on at [step] 5.")
    assert text.getvalue() == "Going on at [step] 5.\n"


def test_notes_go_to_standard_error(capsys: pytest.CaptureFixture[str]):
    note("Saved.")
    assert capsys.readouterr() == ("", "Saved.\n")
