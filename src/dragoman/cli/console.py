"""What commands show on standard error: progress (live on a terminal, plain lines elsewhere) and notes."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dragoman.errors import InputError, shell_path
from dragoman.machine.processes import is_first

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dragoman.jobs.translate_corpus import TranslationProgress
    from dragoman.training.progress import Progress

SILENT_SECONDS = 1.0
"""Seconds after which an activity is reported on a terminal."""


TRANSLATIONS_SAVED = (
    "The translations are saved up to the last complete chunk. Run the same command with --resume to continue."
)
"""What is said when the translation of a corpus is interrupted."""


NOTHING_WRITTEN = "Stopped before training began, so there is no run yet."
"""What is said when training is interrupted while it is prepared."""
STOPPED_AT_ONCE = "Stopped at once: what was not saved is lost. Run the same command with --resume to continue."
"""What is said when training is interrupted and nothing is saved."""


class ProgressDisplay:
    """Shows a text that changes: on a terminal in place, elsewhere as a new line from time to time."""

    def __init__(self, *, plain_seconds: float = 15.0, live_seconds: float = 0.25) -> None:
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True, highlight=False, emoji=False)
        terminal = self.console.is_terminal
        self.live = Live(console=self.console, auto_refresh=False, transient=True) if terminal else None
        self.every = live_seconds if terminal else plain_seconds
        self.shown = float("-inf")

    def due(self) -> bool:
        """Tell whether it is time for an update."""
        return time.monotonic() - self.shown >= self.every

    def show(self, text: str, *, share: float | None = None, final: bool = False) -> None:
        """Show a text if it is time to, with a progress bar for `share`; a `final` text is always shown, and stays."""
        if not (final or self.due()):
            return
        self.shown = time.monotonic()
        if self.live is None or final:
            self.close()
            self.say(text)
            return
        if not self.live.is_started:
            self.live.start()
        self.live.update(_with_bar(text, share), refresh=True)

    def say(self, sentence: str) -> None:
        """Print a sentence that stays."""
        self.console.print(sentence, soft_wrap=True, markup=False)

    def close(self) -> None:
        """Remove what changes from the terminal."""
        if self.live is not None and self.live.is_started:
            self.live.stop()


class ConsoleListener:
    """Shows the progress line of training, and one line per validation."""

    def __init__(self) -> None:
        self.display = ProgressDisplay()

    def progress(self, record: Mapping[str, Any]) -> None:
        """Show the progress of training."""
        if self.display.due():
            self.display.show(progress_text(record), share=record["share"])

    def record(self, record: Mapping[str, Any]) -> None:
        """Print validations."""
        if "dev_loss" in record:
            self.display.say(validation_text(record))

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self.display.say(sentence)

    def close(self) -> None:
        """Remove the live line."""
        self.display.close()


def watch_training(
    fit: Callable[[ConsoleListener], "Progress"], folder: Path, resume: bool, *, texts: str | None = None
) -> "Progress":
    """Train and show the progress. InputError if there is nothing to resume.

    Training that a signal stopped ends the command with 128 and the number of the signal, as shells count: 130 for Ctrl-C. Where
    one stopped it before the first step, or a second one at once, that is said. `texts` is where the run keeps translations.
    """
    if resume and not folder.exists():
        raise InputError(f"there is no run {folder} to resume; remove --resume to start it")
    listener = ConsoleListener()
    try:
        progress = fit(listener)
    except KeyboardInterrupt:
        listener.close()
        if is_first():
            begun = (folder / "manifest.json").exists()
            translated = texts is not None and (folder / texts).exists()
            note(STOPPED_AT_ONCE if begun else TRANSLATIONS_SAVED if translated else NOTHING_WRITTEN)
        raise
    finally:
        listener.close()
    if not progress.finished and is_first():
        note(f"Saved at step {progress.step:,}. Run the same command with --resume to continue.")
    if not progress.finished:
        raise typer.Exit(128 + (progress.stopped_by or signal.SIGINT))
    return progress


def watch_translation_and_training(
    fit: Callable[[ConsoleListener, Callable[["TranslationProgress"], None]], "Progress"],
    folder: Path,
    resume: bool,
    *,
    texts: str,
) -> "Progress":
    """Do what `watch_training` does for a job that translates a corpus before it trains, and reports the progress of both."""
    return watch_training(
        lambda listener: fit(listener, lambda translated: show_translation(listener.display, translated)),
        folder,
        resume,
        texts=texts,
    )


def progress_text(record: Mapping[str, Any]) -> str:
    """Describe the progress of training in one line.

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
    """Describe the quality on dev in one line: loss and, if measured, BLEU or accuracy."""
    kept = "  kept" if record.get("best") else ""
    averaged = f"  average of {record['averaged']} checkpoints" if "averaged" in record else ""
    bleu = f"  dev BLEU {record['dev_bleu']:.1f}" if "dev_bleu" in record else ""
    each = [
        f"{name.removeprefix('dev_bleu_')} {score:.1f}"
        for name, score in record.items()
        if name.startswith("dev_bleu_")
    ]
    bleu += f" ({', '.join(each)})" if each else ""
    accuracy = f"  dev accuracy {record['dev_accuracy']:.1%}" if "dev_accuracy" in record else ""
    return (
        f"      step {record['step']:,}  {clock(record['seconds'])}  dev loss {record['dev_loss']:.3f}"
        f"{bleu}{accuracy}{kept}{averaged}"
    )


def show_translation(display: ProgressDisplay, translated: "TranslationProgress") -> None:
    """Show the progress of the translation of a corpus."""
    display.show(translated_text(translated), final=translated.sentences == translated.total)


@contextmanager
def watching_translation() -> Iterator[Callable[["TranslationProgress"], None]]:
    """Show the progress of the translation of a corpus, which is reported to the function yielded."""
    display = ProgressDisplay()
    try:
        yield lambda translated: show_translation(display, translated)
    except KeyboardInterrupt:
        display.close()
        note(TRANSLATIONS_SAVED)
        raise
    finally:
        display.close()


def translated_text(translated: "TranslationProgress") -> str:
    """Describe the progress of translation in one line.

    >>> from dragoman.jobs.translate_corpus import TranslationProgress
    >>> translated_text(TranslationProgress(1024, 29000, 41.5))
    '  4%  1,024 of 29,000 sentences translated  41.5 sentences/s  11:14 left'
    """
    return (
        f"{translated.sentences / translated.total:4.0%}  {translated.sentences:,} of {translated.total:,} sentences translated  "
        f"{translated.rate:.1f} sentences/s  {clock(translated.seconds_left)} left"
    )


def clock(seconds: float) -> str:
    """Format seconds as a clock.

    >>> clock(75.0), clock(3661.0)
    ('1:15', '1:01:01')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def note(sentence: str) -> None:
    """Print a sentence on standard error."""
    print(sentence, file=sys.stderr, flush=True)


def use_of(purpose: str, folder: Path, targets: int) -> str:
    """Return the command that uses a run, which is named after its purpose; several target languages need `--to`.

    >>> use_of("translate", Path("runs/many to one"), 3)
    "dragoman translate 'runs/many to one' --to LANGUAGE < FILE"
    """
    return f"dragoman {purpose} {shell_path(folder)}{' --to LANGUAGE' if targets > 1 else ''} < FILE"


def print_path(path: Path) -> None:
    """Print a path, the result of a command, on standard output byte for byte; it may not be UTF-8."""
    print(end="", flush=True)
    sys.stdout.buffer.write(os.fsencode(path) + b"\n")
    sys.stdout.buffer.flush()


@contextmanager
def announced(activity: str) -> Iterator[None]:
    """Name an activity on a terminal if it takes longer than a second, such as importing PyTorch and loading a run.

    If standard error is not a terminal, nothing is printed, so that logs stay clean.
    """
    timer = threading.Timer(SILENT_SECONDS, note, [f"{activity} ..."])
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _with_bar(text: str, share: float | None) -> "RenderableType":
    """Put a bar before a progress line."""
    from rich.text import Text

    if share is None:
        return Text(text)
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    grid.add_row(ProgressBar(total=1.0, completed=share, width=24), Text(text))
    return grid
