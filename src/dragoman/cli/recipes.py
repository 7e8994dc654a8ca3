"""`dragoman recipes`."""

from typing import Annotated

import typer


def recipes(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Print this recipe with all its settings. [default: list all recipes]"),
    ] = None,
) -> None:
    """List the recipes that come with Dragoman, or print one."""
    from dragoman.runs.recipe import load_recipe, shipped, written
    from dragoman.settings import read_yaml

    if name is not None:
        print(written(load_recipe(name)), end="")
        return
    for known, path in shipped().items():
        print(f"{known}\n    {' '.join(str(read_yaml(path).get('about', '')).split())}")
    print(
        "\nFor your own sentence pairs, begin with\n    dragoman train own-files --set data.root=FOLDER --set data.source=en "
        "--set data.target=vi --out runs/mine"
    )
