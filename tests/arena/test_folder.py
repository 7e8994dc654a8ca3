"""The files of an arena."""

import json
from pathlib import Path

import pytest
from tests.arena.arenas import arena

from dragoman.arena.folder import Folder
from dragoman.arena.plan import Job, make_plan
from dragoman.errors import RunError, SettingsError


def jobs_of(*assignments: str) -> dict[str, Job]:
    """Return the jobs of a tiny arena by name."""
    return {job.name: job for job in make_plan(arena(*assignments)).jobs}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return a folder that is ready for the jobs of a tiny arena."""
    made = Folder(tmp_path / "arena")
    made.prepare(jobs_of().values())
    return made


def test_a_job_has_a_folder_for_what_it_makes_and_files_for_what_is_known_of_it(folder: Folder) -> None:
    job = jobs_of()["rnn/seed-1"]
    assert folder.run(job) == folder.run("rnn/seed-1") == folder.path / "runs" / "rnn" / "seed-1"
    assert folder.file(job, ".log") == folder.path / "jobs" / "rnn" / "seed-1.log"
    assert (folder.path / "runs").is_dir() and (folder.path / "jobs").is_dir()


def test_a_job_is_done_when_its_result_is_there(folder: Folder) -> None:
    job = jobs_of()["rnn/seed-1"]
    assert not folder.done(job) and folder.result(job) is None
    folder.run(job).mkdir(parents=True)
    (folder.run(job) / "result.json").write_text('{"bleu": 3.5}', encoding="utf-8")
    assert folder.done(job) and folder.result(job) == {"bleu": 3.5}


@pytest.mark.parametrize("damaged", ["", '{"bleu": 3.', "3.5", "[[1, 2]]"])
def test_a_job_whose_result_is_damaged_is_to_be_done_again(folder: Folder, damaged: str) -> None:
    job = jobs_of()["rnn/seed-1"]
    folder.run(job).mkdir(parents=True)
    (folder.run(job) / "result.json").write_text(damaged, encoding="utf-8")
    assert not folder.done(job) and folder.result(job) is None


def test_a_damaged_file_counts_as_none(folder: Folder) -> None:
    job = jobs_of()["rnn/seed-1"]
    folder.run(job).mkdir(parents=True)
    (folder.run(job) / "result.json").write_text('{"bleu": 3', encoding="utf-8")
    assert folder.result(job) is None


def test_a_failure_is_kept_until_it_is_cleared(folder: Folder) -> None:
    job = jobs_of()["rnn/seed-1"]
    assert folder.failure(job) is None
    folder.fail(job, "không đủ bộ nhớ")
    assert folder.failure(job) == "không đủ bộ nhớ"
    folder.clear_failure(job)
    folder.clear_failure(job)
    assert folder.failure(job) is None


@pytest.mark.parametrize(
    ("name", "kind", "members"), [("rnn/seed-2", "training", []), ("both/seed-1", "ensemble", ["rnn", "transformer"])]
)
def test_a_job_is_described_for_a_process_of_its_own(folder: Folder, name: str, kind: str, members: list[str]) -> None:
    job = jobs_of()[name]
    told = json.loads(folder.describe(job, {"seed": 7}, "I love cats.").read_text(encoding="utf-8"))
    assert (told["kind"], told["name"], told["recipe"], told["sentence"]) == (kind, name, {"seed": 7}, "I love cats.")
    assert told["members"] == [str(folder.run(f"{member}/seed-1")) for member in members]


def test_results_of_other_settings_are_not_mixed(folder: Folder) -> None:
    job = jobs_of()["rnn/seed-1"]
    folder.describe(job, {}, None)
    folder.prepare(jobs_of().values())
    with pytest.raises(SettingsError, match=r"rnn.seed-1.*--out.*`rnn`"):
        folder.prepare(jobs_of("systems.rnn.set.model.hidden=40").values())


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RunError, match=r"file.*--out"):
        Folder(tmp_path / "file" / "arena").prepare([])


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RunError, match=r"holds something else, whose `manifest\.json`.*--out"):
        Folder(tmp_path).prepare(jobs_of().values())
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
    (tmp_path / "manifest.json").rename(tmp_path / "arena.yaml")
    Folder(tmp_path).prepare(jobs_of().values())
