"""`dragoman average`, `recipes` and `schema`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dragoman.errors import InputError


def average(
    run: Annotated[Path, typer.Argument(help="A run.")],
    last: Annotated[int, typer.Option(min=2, help="Average the weights of so many last validations.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder of the new run. [default: RUN-average]")] = None,
) -> None:
    """Make a run whose weights are the average of a run's last checkpoints."""
    from dragoman.runs.folder import new_run, open_run
    from dragoman.training.checkpoint import average as mean_of
    from dragoman.training.checkpoint import save_tensors

    opened = open_run(run)
    paths = sorted((run / "checkpoints").glob("step-*.safetensors"))[-last:]
    if len(paths) < 2:
        raise InputError(
            f"{run} has {len(paths)} kept checkpoints, and an average needs two; train with training.keep: 5"
        )
    folder = out or run.resolve().with_name(f"{run.resolve().name}-average")
    if (folder / "manifest.json").exists():
        raise InputError(f"{folder} already holds a run; choose another folder with --out")
    names = [path.stem for path in paths]
    about = {"averaged": names, "data": opened.manifest.get("data", {}), "precision": opened.manifest.get("precision")}
    save_tensors(folder / "model.safetensors", mean_of(paths), {"averaged": names})
    codecs = (opened.source, opened.target)
    new_run(folder, opened.recipe, codecs, about, dictionary=opened.dictionary).save()
    print(folder)


def recipes(
    name: Annotated[str | None, typer.Argument(help="Print this recipe, all of it resolved.")] = None,
) -> None:
    """List the recipes that come with Dragoman, or print one."""
    from dragoman.runs.recipe import load_recipe, shipped
    from dragoman.settings import dump, read_yaml

    if name is not None:
        print(dump(load_recipe(name)), end="")
        return
    for known, path in shipped().items():
        print(f"{known}\n    {' '.join(str(read_yaml(path).get('about', '')).split())}")


def schema() -> None:
    """Print the JSON Schema of recipes, for editors that complete and check YAML."""
    from dragoman.runs.recipe import Recipe

    print(json.dumps(Recipe.model_json_schema(), indent=2))


COMMANDS: dict[str, Callable[..., None]] = {"average": average, "recipes": recipes, "schema": schema}
