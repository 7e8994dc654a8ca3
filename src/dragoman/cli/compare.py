"""`dragoman compare`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import ProgressDisplay, clock, note, print_path
from dragoman.cli.signals import INTERRUPTED

if TYPE_CHECKING:
    from dragoman.arena.results import Outcome


class ArenaListener:
    """Shows a line for each running job."""

    def __init__(self) -> None:
        self.display = ProgressDisplay(plain_seconds=60.0, live_seconds=2.0)

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self.display.say(sentence)

    def progress(self, running: Callable[[], Mapping[str, Mapping[str, Any]]], *, done: int, total: int) -> None:
        """Show the progress of each job, if it is time for an update."""
        if self.display.due():
            lines = [f"{done}/{total} jobs done"]
            lines += [f"  {name}  {job_text(record)}" for name, record in running().items()]
            self.display.show("\n".join(lines))

    def close(self) -> None:
        """Remove the live lines."""
        self.display.close()


def job_text(record: Mapping[str, Any]) -> str:
    """Describe the progress of a job in one line, from its last record.

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
    arena: Annotated[
        str, typer.Argument(metavar="ARENA", help="Arena file, or the name of a shipped one: arena-phrasebook ...")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.NAME=VALUE", help="Change a setting of the arena; may be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output folder. [default: runs/NAME]")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Quick comparison: one seed, no tuning, part of the budget.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed jobs again.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="SYSTEM", help="Run only this system; may be repeated.")
    ] = None,
) -> None:
    """Train systems on one corpus and budget, and compare them.

    Run the same command to resume."""
    from dragoman.arena.folder import Folder
    from dragoman.arena.plan import check_data, check_models, chosen_jobs, make_plan
    from dragoman.arena.reporting import default_folder, write_outcome
    from dragoman.arena.schedule import Worker, crowding
    from dragoman.arena.settings import load_arena

    loaded = load_arena(arena, settings or [])
    plan = make_plan(loaded.quick_version() if quick else loaded)
    jobs = chosen_jobs(plan, only or [])
    folder = Folder(out or default_folder(arena, quick=quick))
    if not all(folder.done(job) for job in jobs):
        check_models(plan)
        check_data(plan)
    folder.prepare(plan.jobs)
    listener = ArenaListener()
    worker = Worker(plan, folder, listener, jobs=jobs)
    for job in jobs if retry else ():
        folder.clear_failure(job)
    left = sum(not folder.done(job) for job in jobs)
    note(f"{len(jobs) - left} of {len(jobs)} jobs are done; {left} remain.")
    if warning := crowding(plan.arena, left):
        note(f"Warning: {warning}")
    try:
        ended = worker.work()
    finally:
        listener.close()
    if not ended:
        note("Saved. Run the same command to continue.")
        raise typer.Exit(INTERRUPTED)
    outcome = write_outcome(plan, folder, worker)
    _show(outcome)
    print_path(folder.path / "table.html")
    if any(row.status.startswith("failed") for row in outcome.rows):
        note("Some trainings failed; the table says why. Add --retry to run them again.")
        note("A system that needs other settings to succeed needs another name with them.")
        raise typer.Exit(1)


def _show(outcome: "Outcome") -> None:
    """Print the systems from the best to the worst."""
    from dragoman.arena.tables import cells, ranked

    for result in ranked(outcome):
        shown = cells(result, outcome)
        against = shown["against"].replace("**", "")
        print(f"{result.system:24} BLEU {shown['bleu']:20} {against:24} {shown['flops']:12} FLOPs  {shown['status']}")
