"""`dragoman average`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import print_path
from dragoman.cli.options import Run
from dragoman.errors import InputError


def average(
    run: Run,
    last: Annotated[int, typer.Option(min=2, help="Average the last N checkpoints.", metavar="N")] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder of the new run. [default: RUN-average]")] = None,
) -> None:
    """Make a run that averages a run's last checkpoints."""
    from dragoman.runs.folder import new_run, open_run
    from dragoman.training.checkpoint import average as mean_of
    from dragoman.training.checkpoint import save_tensors

    opened = open_run(run)
    paths = sorted((run / "checkpoints").glob("step-*.safetensors"))[-last:]
    if len(paths) < 2:
        raise InputError(
            f"averaging needs at least two checkpoints, but {run} has {len(paths)}; train with training.keep=5"
        )
    folder = out or run.resolve().with_name(f"{run.resolve().name}-average")
    if (folder / "manifest.json").exists():
        raise InputError(f"{folder} already holds a run; choose another folder with --out")
    names = [path.stem for path in paths]
    manifest = {
        "averaged": names,
        "data": opened.manifest.get("data", {}),
        "precision": opened.manifest.get("precision"),
    }
    save_tensors(folder / "model.safetensors", mean_of(paths), {"averaged": names})
    codecs = (opened.source, opened.target)
    new_run(folder, opened.recipe, codecs, manifest, dictionary=opened.dictionary).save()
    print_path(folder)
