"""`dragoman merge`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import print_path
from dragoman.cli.options import Run


def merge(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="Folder of the new run. [default: RUN-merged]")] = None,
) -> None:
    """Merge a run's adapters into its base, as a new run.

    The new run has all weights and no longer needs the base.
    """
    from dragoman.jobs.merge import merge_run

    print_path(merge_run(run, out))
