"""An arena whose work is done once for all tests."""

import json
from pathlib import Path

import pytest
from tests.arena.arenas import arena, do_all, worker_of

from dragoman.arena.reporting import write_outcome
from dragoman.arena.results import Outcome
from dragoman.arena.schedule import Worker


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Worker, Outcome]:
    """Return the worker and the outcome of a tiny arena: a search whose trials are made up, two seeds, an ensemble."""
    settings = arena("search={learning_rates: [0.5, 2], share: 0.5}", "seeds=[1, 2]")
    worker = worker_of(settings, tmp_path_factory.mktemp("arena"))
    for job in worker.jobs:
        if job.is_trial:
            found = {"dev_loss": 5 - (job.factor or 0), "flops": 1e9, "seconds": 1.0, "tokens": 10}
            worker.folder.run(job).mkdir(parents=True)
            (worker.folder.run(job) / "result.json").write_text(json.dumps(found), encoding="utf-8")
    do_all(worker, [job.name for job in worker.jobs if not job.is_trial])
    return worker, write_outcome(worker.plan, worker.folder, worker)


@pytest.fixture
def folder(compared: tuple[Worker, Outcome]) -> Path:
    """Return the folder of that arena."""
    return compared[0].folder.path
