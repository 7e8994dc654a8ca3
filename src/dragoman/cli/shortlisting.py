"""`dragoman shortlist`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer


def shortlist(
    run: Annotated[Path, typer.Argument(help="A run whose training text can still be read.")],
    likely: Annotated[int, typer.Option(min=1, help="Target pieces for each source piece.")] = 50,
    frequent: Annotated[int, typer.Option(min=0, help="Most frequent target pieces, which may always occur.")] = 100,
    pairs: Annotated[int, typer.Option(min=1, help="Training pairs to learn from, at most.")] = 100_000,
) -> None:
    """Learn which target pieces each source piece is likely to become; `translate --set shortlist=true` looks at these alone.

    They are learned from the training text by IBM model 1, and kept in RUN/shortlist.safetensors.
    """
    from dragoman.cli.console import note
    from dragoman.jobs.shortlist import make_shortlist
    from dragoman.runs.folder import SHORTLIST

    made = make_shortlist(run, likely=likely, frequent=frequent, pairs=pairs)
    note(
        f"{len(made.always):,} target pieces may always occur, and up to {made.likely.shape[1]:,} more for each of "
        f"{len(made.likely):,} source pieces. Use them with: dragoman translate {run} --set shortlist=true"
    )
    print(run / SHORTLIST)


COMMANDS: dict[str, Callable[..., None]] = {"shortlist": shortlist}
