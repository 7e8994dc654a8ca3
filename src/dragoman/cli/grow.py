"""`dragoman grow`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import note, print_path
from dragoman.cli.options import Run
from dragoman.errors import InputError, number_of


def grow(
    run: Run,
    out: Annotated[Path, typer.Option(help="Folder of the new run.")],
    source: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Text in the source language, with new characters; may be repeated."),
    ] = None,
    target: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Text in the target language; may be repeated."),
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="A new language, spelled like the run's other languages; may be repeated."),
    ] = None,
) -> None:
    """Make a run with room for new characters and languages.

    Everything else is translated as before. Adapt the new run next: what is new must still be learned.

    Characters that occur in at least two lines are added. Their weights begin as means of existing ones.
    """
    if not (source or target or language):
        raise InputError("there is nothing to add; name files with --source and --target, or a --language")
    from dragoman.jobs.grow import grow_run

    grown = grow_run(run, out, source=source or (), target=target or (), languages=language or ())
    shown = "".join(f" {one}" for one in grown.characters[:10]) + (" ..." if len(grown.characters) > 10 else "")
    if grown.characters:
        note(f"{number_of(len(grown.characters), 'character')} added:{shown}")
    if grown.languages:
        note(f"{'Language' if len(grown.languages) == 1 else 'Languages'} added: {', '.join(grown.languages)}")
    note("Adapt it next (`dragoman adapt`): what is new must be learned.")
    print_path(out)
