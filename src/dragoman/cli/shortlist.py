"""`dragoman shortlist`."""

from typing import Annotated

import typer

from dragoman.cli.console import announced, note, print_path
from dragoman.cli.options import Run
from dragoman.errors import shell_path


def shortlist(
    run: Run,
    likely: Annotated[int, typer.Option(min=1, help="Number of target tokens kept for each source token.")] = 50,
    frequent: Annotated[
        int, typer.Option(min=0, help="Number of most frequent target tokens that are always allowed.")
    ] = 100,
    pairs: Annotated[int, typer.Option(min=1, help="Maximum number of training pairs to learn from.")] = 100_000,
) -> None:
    """Learn which target tokens each source token may become.

    `dragoman translate RUN --set shortlist=true` then scores only those, which is faster.

    The table is learned from the run's training text, which must still be readable, with IBM model 1, and saved as
    RUN/shortlist.safetensors.
    """
    from dragoman.runs.folder import SHORTLIST

    with announced(f"Learning a shortlist from the training text of {run}"):
        from dragoman.jobs.shortlist import make_shortlist

        made = make_shortlist(run, likely=likely, frequent=frequent, pairs=pairs)
    note(
        f"{len(made.always):,} target tokens are always allowed, and up to {made.likely.shape[1]:,} more for each of "
        f"{len(made.likely):,} source tokens. Use the shortlist with: "
        f"dragoman translate {shell_path(run)} --set shortlist=true < FILE"
    )
    print_path(run / SHORTLIST)
