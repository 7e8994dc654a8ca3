"""Training by the processes of a Ray cluster, which starts them again where one of them dies.

They are a `World` as those of torchrun are, and a training that is started again goes on from its last save. Ray carries the
recipe to them, with all that it leaves to `auto`; it keeps no checkpoint, and nothing that it writes is in a run folder.
"""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.data.encode import Encoders
from dragoman.errors import DragomanError, LostProcessError, TrainingError
from dragoman.jobs.train import fit
from dragoman.machine.devices import choose_device
from dragoman.machine.processes import for_one_process, name_launch
from dragoman.runs.recipe import Recipe
from dragoman.scaling.cluster import Workers, cluster, error_named, private_folder
from dragoman.scaling.encoding import ray_encoders
from dragoman.training.contracts import Listener
from dragoman.training.progress import Progress
from dragoman.training.reports import Silent
from dragoman.training.world import PATIENCE

MOST_FAILURES = 100
"""How often a training is started again."""


@dataclass(frozen=True)
class _Work:
    """What each process is told."""

    recipe: Recipe
    folder: Path
    place: Path
    """The folder in which the command was given."""
    launch: str
    resume: bool
    listener: Callable[[], Listener]
    encoders: Callable[[], Encoders | None] = lambda: None
    """Returns what encodes the corpus."""


@for_one_process
def fit_on_ray(
    recipe: Recipe,
    folder: Path,
    workers: Workers,
    *,
    resume: bool = False,
    listener: Callable[[], Listener] = Silent,
    failures: int = MOST_FAILURES,
) -> Progress:
    """Do what `jobs/train.py::fit` does with the processes of a Ray cluster, all of which see `folder` and the corpora.

    If a process dies, all are started again, as many as there is room for then, up to `failures` times. `listener` makes what the
    first process tells of its progress. Raises what `fit` raises; TrainingError if processes died too often.
    """
    on_gpu = choose_device(recipe.training.device).type == "cuda"
    work = _Work(
        recipe=recipe,
        folder=folder.absolute(),
        place=Path.cwd(),
        launch=f"ray-{secrets.token_hex(8)}",
        resume=resume,
        listener=listener,
        encoders=ray_encoders,
    )
    with cluster(workers, on_gpu=on_gpu), private_folder() as notes:
        found = _launch(work, workers, notes, on_gpu=on_gpu, failures=failures)
    if "error" in found:
        raise error_named(found["error"])(found["sentence"])
    return Progress.from_json(found["progress"])


def _launch(work: _Work, workers: Workers, notes: Path, *, on_gpu: bool, failures: int) -> dict[str, Any]:
    """Start the processes, and return what the first one has returned."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer
    from ray.train.v2.api.exceptions import TrainingFailedError

    trainer = TorchTrainer(
        _take_part,
        train_loop_config={"work": work},
        torch_config=TorchConfig(
            backend="cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout_s=int(PATIENCE.total_seconds())
        ),
        scaling_config=ScalingConfig(
            num_workers=(workers.least, workers.most) if workers.elastic else workers.most, use_gpu=on_gpu
        ),
        run_config=RunConfig(
            name=work.launch, storage_path=str(notes), failure_config=FailureConfig(max_failures=failures)
        ),
    )
    try:
        found = trainer.fit().return_value
    except TrainingFailedError as error:
        last = str(error).strip().split("\n")[-1]
        raise TrainingError(
            f"the processes of this training died more than {failures} times ({last}); see what they say, and continue with "
            "--resume"
        ) from None
    if found is None:
        raise TrainingError("Ray ended this training before its end; continue from its last checkpoint with --resume")
    return found


def _take_part(told: dict[str, Any]) -> dict[str, Any]:
    """Train as one of the processes; return the progress, or the mistake of the user that no second attempt would mend."""
    work: _Work = told["work"]
    os.chdir(work.place)
    name_launch(work.launch)
    try:
        progress = fit(work.recipe, work.folder, resume=work.resume, listener=work.listener(), encoders=work.encoders())
    except LostProcessError:
        raise
    except DragomanError as error:
        return {"error": type(error).__name__, "sentence": str(error)}
    return {"progress": progress.to_json()}
