"""What training shows on standard error: a live line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dragoman.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from dragoman.training.trainer import Progress

PLAIN_SECONDS = 15.0
"""Seconds between progress lines where standard error is not a terminal."""


class ConsoleListener:
    """Shows the progress line of training, and one line per validation."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True, highlight=False)
        self.live = (
            Live(console=self.console, refresh_per_second=4, transient=True) if self.console.is_terminal else None
        )
        self.shown = 0.0
        self.best_bleu = 0.0

    def progress(self, record: Mapping[str, Any]) -> None:
        """Redraw the progress line, or print it now and then."""
        if self.live is not None:
            if not self.live.is_started:
                self.live.start()
            self.live.update(_line(record))
        elif time.monotonic() - self.shown >= PLAIN_SECONDS:
            self.shown = time.monotonic()
            self.console.print(progress_text(record), soft_wrap=True)

    def record(self, record: Mapping[str, Any]) -> None:
        """Print validations."""
        if "dev_loss" in record:
            self.console.print(validation_text(record), soft_wrap=True)

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self.console.print(sentence, soft_wrap=True, markup=False)

    def close(self) -> None:
        """Take the live line away."""
        if self.live is not None and self.live.is_started:
            self.live.stop()


def watch_training(fit: Callable[[ConsoleListener], "Progress"], folder: Path, resume: bool) -> "Progress":
    """Train while showing how it goes; leave with 130 where training was stopped. InputError where nothing can be resumed."""
    if resume and not folder.exists():
        raise InputError(f"there is no run {folder} to resume; leave --resume out to begin it")
    listener = ConsoleListener()
    try:
        progress = fit(listener)
    finally:
        listener.close()
    if not progress.finished:
        note(f"Saved at step {progress.step:,}. Go on with the same command and --resume.")
        raise typer.Exit(130)
    return progress


def progress_text(record: Mapping[str, Any]) -> str:
    """Say in one line where training stands.

    >>> progress_text({"share": 0.5, "step": 10, "loss": 2.0, "perplexity": 7.4, "learning_rate": 1e-3,
    ...     "tokens_per_second": 1234.5, "padding": 0.021, "seconds_left": 75.0})
    ' 50%  step 10  loss 2.000  ppl 7.40  lr 1.0e-03  1,234 tok/s  padding 2.1%  1:15 left'
    """
    left = record.get("seconds_left")
    return (
        f"{record['share']:4.0%}  step {record['step']:,}  loss {record['loss']:.3f}  ppl {record['perplexity']:.2f}  "
        f"lr {record['learning_rate']:.1e}  {record['tokens_per_second']:,.0f} tok/s  padding {record['padding']:.1%}  "
        f"{clock(left) if left is not None else '?'} left"
    )


def validation_text(record: Mapping[str, Any]) -> str:
    """Say in one line what dev says: its loss and, where they were measured, BLEU or accuracy."""
    star = "  best so far" if record.get("best") else ""
    averaged = f"  average of {record['averaged']} checkpoints" if "averaged" in record else ""
    bleu = f"  dev BLEU {record['dev_bleu']:.1f}" if "dev_bleu" in record else ""
    accuracy = f"  dev accuracy {record['dev_accuracy']:.1%}" if "dev_accuracy" in record else ""
    return (
        f"      step {record['step']:,}  {clock(record['seconds'])}  dev loss {record['dev_loss']:.3f}"
        f"{bleu}{accuracy}{star}{averaged}"
    )


def clock(seconds: float) -> str:
    """Write seconds as a clock.

    >>> clock(75.0), clock(3661.0)
    ('1:15', '1:01:01')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def note(sentence: str) -> None:
    """Print a sentence on standard error."""
    print(sentence, file=sys.stderr, flush=True)


def _line(record: Mapping[str, Any]) -> "Table":
    """Return the progress line with a bar."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    grid.add_row(ProgressBar(total=1.0, completed=record["share"], width=24), progress_text(record))
    return grid
