"""`dragoman train`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import ConsoleListener, clock, note, print_path, use_of, watch_training
from dragoman.cli.options import Ray, RecipeSettings
from dragoman.cli.quality import note_test_scores
from dragoman.errors import number_of
from dragoman.machine.processes import is_first


def train(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="A recipe file, or a name from `dragoman recipes`; with --resume, the folder of a run will do.",
        ),
    ],
    settings: RecipeSettings = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/NAME]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in that folder.")] = False,
    ray: Ray = None,
) -> None:
    """Train a translator or a language model. Ctrl-C saves; --resume continues where it stopped."""
    from dragoman.jobs.train import fit
    from dragoman.models.build import purpose_of
    from dragoman.runs.folder import read_manifest
    from dragoman.runs.recipe import load_recipe

    folder = out or Path("runs") / Path(recipe).stem
    name: str | Path = recipe
    named = Path(recipe)
    like_a_folder = len(named.parts) > 1 and not named.suffix
    if resume and (named.is_dir() or (like_a_folder and not named.exists())):
        read_manifest(named)
        folder, name = out or named, named / "recipe.yaml"
    loaded = load_recipe(name, settings or [])
    if ray is None:
        progress = watch_training(
            lambda listener: fit(loaded, folder, resume=resume, listener=listener), folder, resume
        )
    else:
        from dragoman.scaling.cluster import Workers
        from dragoman.scaling.training import fit_on_ray

        workers = Workers.parse(ray)
        progress = watch_training(
            lambda _: fit_on_ray(loaded, folder, workers, resume=resume, listener=ConsoleListener), folder, resume
        )
    if not is_first():
        return
    use = use_of(purpose_of(loaded.model), folder, len(loaded.data.directions.targets))
    kept = f"the weights of step {progress.best_step:,} are"
    if progress.averaged:
        kept = f"the average of the last {progress.averaged} checkpoints is"
    done = f"{number_of(progress.step, 'step')} in {clock(progress.seconds)} ({progress.flops:.2g} FLOPs)"
    note(f"Done: {done}; {kept} kept. Use it with: {use}")
    note_test_scores(folder)
    print_path(folder)
