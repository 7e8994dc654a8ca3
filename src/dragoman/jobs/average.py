"""Average checkpoints: make a new run whose weights are the mean of those that another run kept."""

from pathlib import Path

from dragoman.errors import InputError
from dragoman.machine.processes import for_one_process
from dragoman.runs.folder import check_new, new_run, open_run, replacing_run
from dragoman.training.checkpoint import average


@for_one_process
def average_run(folder: Path, last: int, out: Path | None = None) -> Path:
    """Average the last checkpoints of the run `folder` into the run `out` (RUN-average by default), and return that folder.

    Raises InputError if fewer than two are kept, RunError if `out` holds anything.
    """
    run = open_run(folder)
    if "averaged" in run.manifest:
        raise InputError(f"{folder} is an average itself, which has no checkpoints; give the run that it was made from")
    paths = run.files.kept()[-last:]
    if len(paths) < 2:
        raise InputError(
            f"averaging needs at least two checkpoints, but {folder} has {len(paths)}; train with training.keep: 5"
        )
    for path in paths:
        run.files.check_recorded(path)
    target = out or folder.resolve().with_name(f"{folder.resolve().name}-average")
    names = [path.stem for path in paths]
    metadata = run.inherited("start_from", "cost") | {"averaged": names}  # adapters need their base
    check_new(target, resumable=False)
    with replacing_run(target) as temporary:
        averaged = new_run(
            temporary, run.recipe, (run.source, run.target), metadata=metadata, dictionary=run.dictionary, before=run
        )
        averaged.files.save(averaged.weights, average(paths), {"averaged": names})
        averaged.save()
    return target
