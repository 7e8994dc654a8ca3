"""Jobs in processes of their own: order, failures, stops, several workers on one folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.arena.arenas import ARENA, arena, worker_of
from tests.tiny import ROOT

from dragoman.arena import folder, schedule
from dragoman.arena.schedule import Worker, last_record, places, why
from dragoman.errors import SettingsError
from dragoman.runs.lock import held
from dragoman.settings import merge

JOB = """
import json, os, sys, time
table = json.load(open(sys.argv[1]))
os.makedirs(table["folder"], exist_ok=True)
with open(os.path.join(table["folder"], "began"), "a") as file:
    file.write("once\\n")
time.sleep(0.05)
if "transformer" in table["name"]:
    sys.exit("memory of a goldfish")
with open(os.path.join(table["folder"], "result.json"), "w") as file:
    json.dump({"dev_loss": 1.0, "rate": table["recipe"]["training"]["learning_rate"]}, file)
"""
"""A job that trains nothing; those of `transformer` fail."""
WORKER = """
import sys
from pathlib import Path
from tests.arena.test_schedule import work_with_toys
work_with_toys(Path(sys.argv[1]), seeds=[1, 2, 3])
"""


def start_toy(described: Path, log: Path, place: object, threads: int) -> "subprocess.Popen[bytes]":
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-S", "-c", JOB, str(described)], stdin=subprocess.PIPE, stdout=file, stderr=file
        )


def work_with_toys(folder: Path, **changes: object) -> Worker:
    """Work through a tiny arena whose jobs are toys."""
    worker = worker_of(arena(table=merge(ARENA, changes)), folder)
    before = schedule._start
    try:
        schedule._start = start_toy
        assert worker.work()
    finally:
        schedule._start = before
    return worker


def test_a_system_that_fails_stops_no_other_and_is_not_tried_again(tmp_path: Path):
    worker = work_with_toys(tmp_path)
    done = {job.name: worker.folder.done(job) for job in worker.jobs}
    assert done == {f"{name}/seed-{seed}": name == "rnn" for name in ("rnn", "transformer", "both") for seed in (1, 2)}
    assert "memory of a goldfish" in (worker.folder.failure(worker.by_name["transformer/seed-1"]) or "")
    work_with_toys(tmp_path)
    for name in ("rnn", "transformer"):
        assert (tmp_path / "runs" / name / "seed-1" / "began").read_text() == "once\n"
    worker.folder.clear_failure(worker.by_name["transformer/seed-1"])
    work_with_toys(tmp_path)
    assert (tmp_path / "runs" / "transformer" / "seed-1" / "began").read_text() == "once\n" * 2


def test_a_result_is_read_anew_until_it_is_there_and_then_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    monkeypatch.setattr(folder, "load_json", lambda path: read.append(str(path)) or json.loads(path.read_text()))
    worker = worker_of(arena(), tmp_path)
    (place := worker.folder.run("rnn/seed-1")).mkdir(parents=True)
    found = [worker.done("rnn/seed-1")]
    (place / "result.json").write_text('{"dev_loss": 1.0', encoding="utf-8")
    found.append(worker.done("rnn/seed-1"))
    (place / "result.json").write_text('{"dev_loss": 1.0}', encoding="utf-8")
    found += [worker.done("rnn/seed-1")]
    read.clear()
    for _ in range(3):
        found.append(worker.done(worker.by_name["rnn/seed-1"]))
        assert [job.name for job in worker._ready()] == ["transformer/seed-1", "rnn/seed-2", "transformer/seed-2"]
        worker._tell()
    assert found == [False, False, True, True, True, True]
    assert not [one for one in read if one == str(place / "result.json")]


def test_trainings_wait_for_the_search_and_take_what_it_chose(tmp_path: Path):
    search = {"learning_rates": [2, 0.5], "share": 0.5}
    worker = work_with_toys(tmp_path, search=search, parallel=3)
    assert (worker.folder.result("rnn/seed-2") or {})["rate"] == pytest.approx(0.005)  # losses are equal: the smaller
    assert "memory of a goldfish" in (worker.blocked(worker.by_name["transformer/seed-1"]) or "")
    assert not (tmp_path / "runs" / "transformer" / "seed-1").exists()


@pytest.mark.slow
def test_two_processes_share_the_work_and_do_nothing_twice(tmp_path: Path):
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    running = [subprocess.Popen(command, env=environment, cwd=ROOT) for _ in range(2)]
    assert [process.wait(120) for process in running] == [0, 0]
    began = list(tmp_path.glob("runs/*/*/began"))
    assert len(began) == 6 and {path.read_text() for path in began} == {"once\n"}
    assert list(tmp_path.glob("jobs/*/*.lock")) == []


@pytest.mark.slow
def test_jobs_of_other_settings_are_not_taken_for_these(tmp_path: Path):
    work_with_toys(tmp_path)
    with pytest.raises(SettingsError, match=r"settings.*--out"):
        worker_of(arena("base.training.clip=2"), tmp_path)
    worker_of(arena("samples=9", "seeds=[1, 2, 3]"), tmp_path)


def test_work_that_others_hold_is_left_to_them(tmp_path: Path):
    worker = worker_of(arena("seeds=[1]"), tmp_path)
    for job in worker.jobs:
        lock = worker.folder.file(job, ".lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
        assert held(lock)
    assert worker.work() and not any(worker.folder.done(job) for job in worker.jobs)


@pytest.mark.parametrize(
    ("code", "text", "sentence"),
    [
        (2, "a warning\nthe corpus is not there\n\n", "the corpus is not there"),
        (1, "Traceback\nValueError: oh\n", "its process crashed: ValueError: oh; "),
        (-9, "", "its process was killed by signal 9 (SIGKILL); did memory run out?"),
        (3, "", "code 3"),
    ],
)
def test_the_reason_of_a_failure_is_one_sentence(tmp_path: Path, code, text, sentence):
    (tmp_path / "log").write_text(text, encoding="utf-8")
    assert sentence in why(code, tmp_path / "log")


@pytest.mark.parametrize(
    ("devices", "environment", "expected"),
    [
        (0, {}, [{}, {}]),
        (0, {"LOCAL_RANK": "1"}, [{}, {}]),
        (1, {}, [{}, {}]),
        (3, {}, [{"CUDA_VISIBLE_DEVICES": name} for name in "012"]),
        (2, {"CUDA_VISIBLE_DEVICES": "4,7"}, [{"CUDA_VISIBLE_DEVICES": name} for name in "47"]),
        (2, {"CUDA_VISIBLE_DEVICES": "4,7", "LOCAL_RANK": "1"}, [{"CUDA_VISIBLE_DEVICES": "7"}]),
    ],
)
def test_each_gpu_has_its_place(monkeypatch: pytest.MonkeyPatch, devices, environment, expected):
    for name in ("CUDA_VISIBLE_DEVICES", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(schedule.torch.cuda, "device_count", lambda: devices)
    assert places(2) == expected


@pytest.mark.parametrize(
    ("settings", "jobs", "warned"),
    [
        (["budget={minutes: 1}", "parallel=3"], 9, True),
        (["budget={minutes: 1}", "parallel=2", "threads=2"], 9, True),
        (["budget={minutes: 1}", "parallel=2"], 9, False),
        (["budget={minutes: 1}", "parallel=3"], 1, False),
        (["budget={minutes: 1}", "parallel=3"], 0, False),
        (["budget={tokens: 5}", "parallel=3"], 9, False),
    ],
)
def test_jobs_that_would_share_cores_are_warned_of(
    monkeypatch: pytest.MonkeyPatch, settings: list[str], jobs: int, warned: bool
):
    monkeypatch.setattr(schedule, "usable_cores", lambda: 2)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    warning = schedule.crowding(arena(*settings), jobs)
    assert (warning is not None) == warned
    assert warning is None or all(words in warning for words in ("`parallel`", "at most 2", "tokens"))
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    assert schedule.crowding(arena(*settings), jobs) is None


def test_progress_is_the_last_record_with_the_last_dev_bleu(tmp_path: Path):
    records = [{"step": 1, "share": 0.1}, {"step": 2, "dev_bleu": 3.0}, {"step": 3, "share": 0.3}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    assert last_record(tmp_path / "metrics.jsonl") == {"step": 3, "share": 0.3, "dev_bleu": 3.0}
    assert last_record(tmp_path / "none.jsonl") == {}


def test_a_validation_before_the_first_progress_is_no_progress(tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 2, "dev_loss": 5.0, "dev_bleu": 3.0}\n')
    assert last_record(tmp_path / "metrics.jsonl") == {}
