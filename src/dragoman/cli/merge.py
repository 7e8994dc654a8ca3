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
    """Make a run of all weights from one of adapters.

    It no longer needs its base.
    """
    from dragoman.jobs.merge import merge_run

    print_path(merge_run(run, out))
