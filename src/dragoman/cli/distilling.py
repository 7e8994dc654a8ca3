"""`dragoman distill`."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import PLAIN_SECONDS, clock, note, watch_training

if TYPE_CHECKING:
    from dragoman.jobs.distill import TranslationProgress

SEARCH = "teacher."
"""Settings of the teacher's search begin so."""


def distill(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="The teacher: a run, or several together.")],
    out: Annotated[Path, typer.Option(help="Folder of the student's run.")],
    recipe: Annotated[str, typer.Option(help="The student: its model and training are taken from here.")] = "student",
    n_best: Annotated[int, typer.Option(min=1, help="Translations of each sentence to learn from, at most.")] = 1,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="Of the beam, take those nearest to the reference (sentence BLEU).")
    ] = False,
    original: Annotated[bool, typer.Option("--original", help="Learn from the corpus itself too.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="A.B=C",
            help="Change a setting of the student's recipe, or as teacher.beam=2 one of the teacher's search; may be repeated.",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the work in that folder.")] = False,
) -> None:
    """Train a small, quick student on a teacher's translations of its own training corpus.

    Vocabularies and data are the teacher's. Ctrl-C at any time; --resume goes on where it stopped.
    """
    from dragoman.jobs.distill import DistillationSettings, distill
    from dragoman.jobs.evaluate import measure_tests
    from dragoman.settings import override

    search = [one.removeprefix(SEARCH) for one in settings or [] if one.startswith(SEARCH)]
    teaching = DistillationSettings(n_best, nearest, original, override({}, search))
    try:
        progress = watch_training(
            lambda listener: distill(
                runs,
                recipe,
                out,
                teaching=teaching,
                assignments=[one for one in settings or [] if not one.startswith(SEARCH)],
                resume=resume,
                listener=listener,
                report=ProgressPrinter(),
            ),
            out,
            resume,
        )
    except KeyboardInterrupt:
        note("What is translated is kept. Go on with the same command and --resume.")
        raise
    note(
        f"Done: {progress.step:,} steps in {clock(progress.seconds)}. Use the student with: dragoman translate {out} < FILE"
    )
    for corpus, scores in measure_tests(out).items():
        note(f"{corpus}: " + "   ".join(f"{score.name} {score.score:.1f} ({score.signature})" for score in scores))
    print(out)


class ProgressPrinter:
    """Says how translating comes along: on one line of a terminal, now and then elsewhere."""

    def __init__(self) -> None:
        self.shown = 0.0

    def __call__(self, where: "TranslationProgress") -> None:
        """Say where it stands."""
        ended = where.sentences == where.total
        if sys.stderr.isatty():
            print(f"\r{translated_text(where)}", end="\n" if ended else "\x1b[K", file=sys.stderr, flush=True)
        elif ended or time.monotonic() - self.shown >= PLAIN_SECONDS:
            self.shown = time.monotonic()
            note(translated_text(where))


def translated_text(where: "TranslationProgress") -> str:
    """Say in one line where translating stands.

    >>> from dragoman.jobs.distill import TranslationProgress
    >>> translated_text(TranslationProgress(1024, 29000, 41.5))
    '  4%  1,024 of 29,000 sentences translated  41.5 sentences/s  11:14 left'
    """
    return (
        f"{where.sentences / where.total:4.0%}  {where.sentences:,} of {where.total:,} sentences translated  "
        f"{where.rate:.1f} sentences/s  {clock(where.seconds_left)} left"
    )


COMMANDS: dict[str, Callable[..., None]] = {"distill": distill}
