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
        typer.Argument(metavar="MODULE", help="Python module with the list PLUGINS, such as my_package.plugins."),
    ],
) -> None:
    """Test the plugins of a module against the laws.

    The laws are what must hold for every architecture. The exit code is 1 if one is broken.
    """
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
