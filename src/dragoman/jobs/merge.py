"""Merge adapters with their base: make a run that holds all of its weights, and needs no other."""

from pathlib import Path

import torch

from dragoman.errors import InputError
from dragoman.machine.processes import for_one_process
from dragoman.runs.folder import check_new, new_run, open_run, replacing_run


@for_one_process
def merge_run(folder: Path, out: Path | None = None) -> Path:
    """Merge the adapters of the run `folder` into the run `out` (RUN-merged by default), and return that folder.

    Raises InputError for a run without adapters, RunError if `out` holds anything or the base is not there.
    """
    run = open_run(folder)
    if getattr(run.recipe.model, "adapters", None) is None:
        raise InputError(f"{folder} has no adapters: it holds all of its weights already")
    target = out or folder.resolve().with_name(f"{folder.resolve().name}-merged")
    model = run.recipe.model.model_copy(update={"adapters": None, "start_from": None})
    check_new(target, resumable=False)
    with replacing_run(target) as temporary:
        whole = run.recipe.model_copy(update={"model": model})
        merged = new_run(
            temporary,
            whole,
            (run.source, run.target),
            metadata=run.inherited("cost") | {"merged": str(folder)},
            dictionary=run.dictionary,
            before=run,
        )
        merged.files.save_weights(merged.weights, run.load_any(torch.device("cpu")), {"merged": str(folder)})
        merged.save()
    return target
