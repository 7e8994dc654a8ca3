"""`dragoman compare`."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import clock, note

if TYPE_CHECKING:
    from dragoman.arena.results import Outcome

PLAIN_SECONDS = 60.0
"""Seconds between progress lines where standard error is not a terminal."""
LIVE_SECONDS = 2.0
"""Seconds between them on a terminal."""


class ArenaListener:
    """Shows a line for each running job: live on a terminal, now and then elsewhere."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True, highlight=False)
        terminal = self.console.is_terminal
        self.live = Live(console=self.console, transient=True, auto_refresh=False) if terminal else None
        self.every = LIVE_SECONDS if terminal else PLAIN_SECONDS
        self.shown = time.monotonic() - self.every + LIVE_SECONDS

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self.console.print(sentence, soft_wrap=True, markup=False)

    def progress(self, running: Callable[[], Mapping[str, Mapping[str, Any]]], *, done: int, total: int) -> None:
        """Show where the jobs stand, if it is time for that."""
        if time.monotonic() - self.shown < self.every:
            return
        self.shown = time.monotonic()
        lines = [f"{done}/{total} jobs done"]
        lines += [f"  {name}  {job_text(record)}" for name, record in running().items()]
        if self.live is None:
            self.say("\n".join(lines))
            return
        if not self.live.is_started:
            self.live.start()
        from rich.text import Text

        self.live.update(Text("\n".join(lines)), refresh=True)

    def close(self) -> None:
        """Take the live lines away."""
        if self.live is not None and self.live.is_started:
            self.live.stop()


def job_text(record: Mapping[str, Any]) -> str:
    """Say in one line where a job stands, from its last record.

    >>> job_text({"share": 0.5, "loss": 2.0, "tokens_per_second": 1234.5, "seconds_left": 75.0, "dev_bleu": 12.3})
    ' 50%  loss 2.000  1,234 tok/s  dev BLEU 12.3  1:15 left'
    >>> job_text({}), job_text({"share": 1.0})
    ('preparing', 'measuring')
    """
    if not record:
        return "preparing"
    if record["share"] >= 1:
        return "measuring"
    left = record.get("seconds_left")
    bleu = f"  dev BLEU {record['dev_bleu']:.1f}" if "dev_bleu" in record else ""
    return (
        f"{record['share']:4.0%}  loss {record['loss']:.3f}  {record['tokens_per_second']:,.0f} tok/s{bleu}  "
        f"{clock(left) if left is not None else '?'} left"
    )


def compare(
    arena: Annotated[str, typer.Argument(help="An arena file, or arena-multi30k or arena-phrasebook.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a setting of the arena; may be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of everything made. [default: runs/NAME]")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: one seed, no search, a part of the budget.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="SYSTEM", help="Only this system; may be repeated.")
    ] = None,
) -> None:
    """Train systems on one corpus with one budget, and compare them; the same command goes on where it stopped."""
    from dragoman.arena.folder import Folder
    from dragoman.arena.plan import chosen_jobs, make_plan
    from dragoman.arena.reporting import default_folder, write_outcome
    from dragoman.arena.schedule import Worker
    from dragoman.arena.settings import load_arena

    loaded = load_arena(arena, settings or [])
    plan = make_plan(loaded.quick_version() if quick else loaded)
    jobs = chosen_jobs(plan, only or [])
    folder = Folder(out or default_folder(arena, quick=quick))
    folder.prepare(plan.jobs)
    listener = ArenaListener()
    worker = Worker(plan, folder, listener, jobs=jobs)
    for job in jobs if retry else ():
        folder.clear_failure(job)
    left = sum(not folder.done(job) for job in jobs)
    note(f"{len(jobs) - left} of {len(jobs)} jobs are done; {left} are left.")
    try:
        ended = worker.work()
    finally:
        listener.close()
    if not ended:
        note("Saved. The same command goes on.")
        raise typer.Exit(130)
    outcome = write_outcome(plan, folder, worker)
    _show(outcome)
    print(folder.path / "table.html")
    if any(row.status.startswith("failed") for row in outcome.rows):
        note("Some systems have no result; the table says why. Add --retry to try them again.")
        raise typer.Exit(1)


def _show(outcome: "Outcome") -> None:
    """Print the systems from the best to the worst."""
    from dragoman.arena.tables import cells, ranked

    for standing in ranked(outcome):
        found = cells(standing, outcome)
        against = found["against"].replace("**", "")
        print(f"{standing.system:24} BLEU {found['bleu']:20} {against:24} {found['flops']:12} FLOPs  {found['status']}")


COMMANDS: dict[str, Callable[..., None]] = {"compare": compare}
