"""What a process is told by the one that starts it."""

import pytest

from dragoman.classification.fitting import fit_classifier
from dragoman.errors import InputError
from dragoman.jobs.adapt import adapt
from dragoman.jobs.backtranslate import backtranslate
from dragoman.jobs.distill import distill
from dragoman.jobs.plan import make_plan
from dragoman.machine.processes import for_one_process, is_first, is_one_of_several, launch_of, restarts

ALONE = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}


def test_several_are_needed_to_be_one_of_several() -> None:
    assert is_one_of_several(ALONE | {"WORLD_SIZE": "2"})
    assert not is_one_of_several(ALONE)
    assert not is_one_of_several({"RANK": "1", "WORLD_SIZE": "2"})  # as other launchers may set them


def test_the_first_has_rank_0() -> None:
    assert [is_first(ALONE | {"WORLD_SIZE": "3", "RANK": rank}) for rank in "012"] == [True, False, False]
    assert is_first(ALONE) and is_first({})


def test_a_launch_without_a_name_is_none() -> None:
    assert launch_of({}) is None and launch_of({"TORCHELASTIC_RUN_ID": "none"}) is None
    assert launch_of({"TORCHELASTIC_RUN_ID": "night"}) == "night"
    assert restarts({"TORCHELASTIC_RESTART_COUNT": "3"}) == 3


def test_jobs_that_several_processes_cannot_share_are_refused_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (ALONE | {"WORLD_SIZE": "2"}).items():
        monkeypatch.setenv(name, value)
    for job in (adapt, distill, backtranslate, make_plan, fit_classifier):
        with pytest.raises(InputError, match=rf"`{job.__name__}` without torchrun"):
            job()  # type: ignore[operator]


def test_one_process_may_do_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    assert for_one_process(len)([1, 2]) == 2
