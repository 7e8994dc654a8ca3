"""`dragoman laws`."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import note


def laws(
    module: Annotated[
        str,
        typer.Argument(metavar="MODULE", help="A Python module whose PLUGINS are tried, such as my_package.plugins."),
    ],
) -> None:
    """Run the laws of every architecture on the plugins of a module; exit with 1 where one is broken."""
    from dragoman.laws.plugins import check, load_plugins

    sys.path.insert(0, str(Path.cwd()))
    plugins = load_plugins(module)
    kept = broken = 0
    with tempfile.TemporaryDirectory() as folder:
        for verdict in check(plugins, Path(folder)):
            kept, broken = kept + (verdict.failure is None), broken + (verdict.failure is not None)
            print(
                f"{verdict.plugin} in {verdict.architecture}: law {verdict.law}: {verdict.failure or 'kept'}",
                flush=True,
            )
    note(f"{kept} laws kept, {broken} broken.")
    if broken:
        raise typer.Exit(1)
