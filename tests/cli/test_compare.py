"""`dragoman compare`: the whole job, with real processes."""

import csv
import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.arena.arenas import ARENA, BROKEN, arena, arena_file, worker_of
from tests.tiny import dragoman, process, refusal

from dragoman.arena.schedule import Worker
from dragoman.cli.compare import ArenaListener

SYSTEMS = {"rnn": ARENA["systems"]["rnn"], "short": BROKEN, "both": {"ensemble": ["rnn", "short"]}}


def test_processes_that_torchrun_started_may_share_an_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}.items():
        monkeypatch.setenv(name, value)
    assert "there is no arena `nothing`" in refusal("compare", "nothing")
    assert "without torchrun" in refusal("verify", "nothing")


def rows(out: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((out / "table.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_a_broken_system_is_named_and_what_is_done_is_not_done_again(tmp_path: Path):
    path = arena_file(tmp_path, table={**ARENA, "systems": SYSTEMS, "seeds": [1], "parallel": 2})
    first = dragoman("compare", path, "--out", tmp_path / "out")
    assert first.code == 1, first
    assert first.lines[-1] == str(tmp_path / "out" / "table.html")
    statuses = {row["system"]: row["status"] for row in rows(tmp_path / "out")}
    assert statuses["rnn"] == "done" and statuses["both"] == "failed: its member `short` failed"
    assert statuses["short"].startswith("failed: ") and "the 3 positions of the model" in statuses["short"]
    made = (tmp_path / "out" / "runs" / "rnn" / "seed-1" / "result.json").stat().st_mtime_ns
    second = dragoman("compare", path, "--out", tmp_path / "out")
    assert second.code == 1 and "1 of 3 jobs are done" in second.errors
    assert (tmp_path / "out" / "runs" / "rnn" / "seed-1" / "result.json").stat().st_mtime_ns == made
    assert {row["system"]: row["status"] for row in rows(tmp_path / "out")} == statuses


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "rnm"], "the arena has no system `rnm`; did you mean `rnn`?"),
        (["--set", "sytems.rnn=1"], "has no setting `sytems`; did you mean `systems`?"),
        (["--set", "systems.rnn.set.model.kind=rmn"], "`model.kind` cannot be `rmn`; did you mean `rnn`?"),
        (
            ["--set", "systems.rnn.set.model={kind: transformer, width: 16, heads: 3}"],
            "the system `rnn`: model.width 16",
        ),
        (["--set", "systems.rnn.set.model.start_from.whole=none"], "the system `rnn`: there is no run folder none"),
        (["--set", "base.data.dev=[{text: none.en}]"], "there is no file"),
        (["--set", "base.data.test=[{source: long.en, target: short.vi}]"], "parallel files must match line by line"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.en").write_text("Hello.\nGood morning.\n", encoding="utf-8")
    (tmp_path / "short.vi").write_text("Chào.\n", encoding="utf-8")
    assert sentence in refusal("compare", arena_file(tmp_path), "--out", tmp_path / "out", *arguments)
    assert not (tmp_path / "out").exists()


def test_progress_has_a_line_for_each_job(capsys: pytest.CaptureFixture[str]):
    listener = ArenaListener()
    record = {"share": 0.5, "loss": 2.0, "tokens_per_second": 100.0, "seconds_left": 60.0}
    listener.progress(lambda: {"rnn/seed-1": record, "bytenet/seed-1": {}}, done=3, total=9)
    listener.progress(lambda: {}, done=4, total=9)  # too soon to be shown
    found = capsys.readouterr().err
    assert "3/9 jobs done\n  rnn/seed-1   50%  loss 2.000  100 tok/s  1:00 left\n  bytenet/seed-1  preparing\n" in found
    assert "4/9" not in found


def test_what_failed_before_is_shown_and_not_run_again(tmp_path: Path):
    worker = worker_of(arena("seeds=[1]"), tmp_path / "out")
    for job in worker.jobs:
        worker.folder.fail(job, "no memory is left")
    found = dragoman("compare", arena_file(tmp_path, "seeds=[1]"), "--out", tmp_path / "out")
    assert found.code == 1 and "0 of 3 jobs are done" in found.errors
    assert "Some trainings failed; the table says why. Add --retry to run them again." in found.errors
    assert "other settings" in found.errors and "another name" in found.errors
    assert [line.split()[0] for line in found.lines] == [*ARENA["systems"], str(tmp_path / "out" / "table.html")]
    assert all(line.endswith("failed: no memory is left") for line in found.lines[:2])


def test_jobs_that_share_cores_are_warned_of_before_they_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.arena.schedule.usable_cores", lambda: 1)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setattr(Worker, "work", lambda worker: False)
    path = arena_file(tmp_path, "parallel=2", "budget={minutes: 1}")
    assert "Warning: 2 jobs at a time" in dragoman("compare", path, "--out", tmp_path / "out").errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_comparison_that_is_stopped_ends_with_the_code_of_its_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
):
    monkeypatch.setattr(Worker, "_begin_more", lambda worker: os.kill(os.getpid(), number))
    found = dragoman("compare", arena_file(tmp_path), "--out", tmp_path / "out")
    assert found.code == code
    assert "Run the same command to continue." in found.errors


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_or_killed_arena_goes_on_where_it_was(tmp_path: Path, how):
    systems = {"rnn": {"set": {"model": ARENA["systems"]["rnn"]["set"]["model"], "training": {"save_minutes": 0.01}}}}
    table = {**ARENA, "systems": systems, "seeds": [1], "budget": {"minutes": 0.25}}
    path, out = arena_file(tmp_path, table=table), tmp_path / "out"
    run = out / "runs" / "rnn" / "seed-1"
    first = process("compare", path, "--out", out, folder=tmp_path)
    while not (run / "training" / "last.safetensors").exists():
        time.sleep(0.1)
        assert first.poll() is None, first.communicate()
    first.send_signal(how)
    first.communicate(timeout=60)
    assert first.returncode in (130, -signal.SIGKILL)
    begun = time.time()
    second = dragoman("compare", path, "--out", out)
    assert second.code == 0, second
    assert time.time() - begun < 60
    assert float(rows(out)[0]["seconds"]) >= 15
    steps = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(steps) and steps[0] <= 10
    assert list((out / "jobs").glob("*/*.lock")) == []


@pytest.mark.slow
def test_the_quick_arena_of_the_phrasebook_trains_every_system(tmp_path: Path):
    found = dragoman("compare", "arena-phrasebook", "--quick", "--out", tmp_path / "out")
    assert found.code == 0, found
    assert len(rows(tmp_path / "out")) == 12 and {row["status"] for row in rows(tmp_path / "out")} == {"done"}
    for name in ("table.md", "table.html", "bleu-flops.png", "bleu-flops.svg", "curves.png", "manifest.json"):
        assert (tmp_path / "out" / name).stat().st_size > 1000
