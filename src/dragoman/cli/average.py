"""`dragoman average`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import note, print_path
from dragoman.cli.options import Run


def average(
    run: Run,
    last: Annotated[int, typer.Option(min=2, help="Average the last N checkpoints.", metavar="N")] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder of the new run. [default: RUN-average]")] = None,
) -> None:
    """Make a run that averages a run's last checkpoints."""
    from dragoman.jobs.average import average_run
    from dragoman.runs.folder import read_manifest

    made = average_run(run, last, out)
    names = read_manifest(made)["averaged"]
    more = "" if len(names) == last else f"; {run} keeps no more than these {len(names)} (`training.keep`)"
    note(f"Averaged {', '.join(names)}{more}.")
    print_path(made)
