"""The translation of files on Ray: every line once, in its order, byte for byte as by one process, also where a worker dies."""

import signal
import time
from pathlib import Path

import pytest
from tests.scaling.cluster import ended, kill, needs_ray, processes, start
from tests.tiny import Trained, dragoman

from dragoman.errors import DragomanError
from dragoman.jobs import bulk
from dragoman.jobs.bulk import Bulk, find_blocks
from dragoman.scaling.cluster import Workers
from dragoman.scaling.translation import _Process, by_processes

LINES = ["I love cats.", "No.", "", "This is a book.", "The cat sleeps.", "Yes."]


@pytest.fixture
def job(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bulk:
    """A job of three blocks."""
    monkeypatch.setattr(bulk, "CHUNK", 2)
    (tmp_path / "text.en").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    made = Bulk((trained("rnn"),), tmp_path / "text.en", tmp_path / "text.vi", {})
    made.folder.mkdir()
    return made


def batch(job: Bulk, *numbers: int) -> dict[str, list[int]]:
    """Return some blocks as Ray gives them to a process."""
    chosen = [find_blocks(job.source)[number] for number in numbers]
    return {name: [getattr(one, name) for one in chosen] for name in ("number", "start", "end", "lines", "before")}


def test_a_process_writes_the_blocks_that_it_is_given(job: Bulk) -> None:
    process = _Process(job, Path.cwd())
    assert process(batch(job, 2, 0)) == {"number": [2, 0], "problem": ["", ""]}
    assert sorted(path.name for path in job.folder.iterdir()) == ["000000000.txt", "000000002.txt"]
    expected = [one.text for one in job.load().translate(LINES)]
    assert (job.folder / "000000002.txt").read_text(encoding="utf-8").splitlines() == expected[4:]


def test_a_process_leaves_blocks_alone_that_are_there(job: Bulk) -> None:
    (job.folder / "000000001.txt").write_text("by another\n")
    assert _Process(job, Path.cwd())(batch(job, 1)) == {"number": [1], "problem": [""]}
    assert (job.folder / "000000001.txt").read_text() == "by another\n"


def test_what_cannot_be_translated_is_said_rather_than_tried_again(job: Bulk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise DragomanError("line 3 is too long")

    monkeypatch.setattr(bulk.BlockTranslator, "write", refuse)
    assert _Process(job, Path.cwd())(batch(job, 1))["problem"] == ["line 3 is too long"]


def test_where_nothing_is_missing_no_cluster_is_started(job: Bulk) -> None:
    assert list(by_processes(Workers(1, 1))(job, [])) == []


def corpus(place: Path, lines: int) -> Path:
    """Write a text of the words that the tiny runs know."""
    path = place / "text.en"
    path.write_text("".join(f"{LINES[number * number % len(LINES)]}\n" for number in range(lines)), encoding="utf-8")
    return path


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_on_ray_the_bytes_are_those_of_one_process(trained: Trained, tmp_path: Path, killed: bool) -> None:
    run, source = trained("transformer"), corpus(tmp_path, 6_000)
    streamed = dragoman("translate", run, stdin=source.read_bytes())
    assert dragoman("bulk", run, "--source", source, "--out", tmp_path / "one.vi").code == 0
    out = tmp_path / "ray.vi"
    job = start("bulk", run, "--source", source, "--out", out, "--ray", "2", folder=tmp_path)
    if killed:
        blocks = tmp_path / "ray.vi.blocks"
        while len(list(blocks.glob("0*.txt"))) < 2 and job.poll() is None:
            time.sleep(0.05)
        working = processes("ray::MapWorker")
        assert working
        kill(min(working))
    assert ended(job, tmp_path) == f"{out}\n"
    assert out.read_bytes() == (tmp_path / "one.vi").read_bytes() == streamed.output.encode()
    assert not (tmp_path / "ray.vi.blocks").exists()


@needs_ray
@pytest.mark.slow
def test_a_job_that_was_killed_is_resumed_with_the_blocks_that_are_done(trained: Trained, tmp_path: Path) -> None:
    run, source = trained("transformer"), corpus(tmp_path, 6_000)
    out, blocks = tmp_path / "ray.vi", tmp_path / "ray.vi.blocks"
    arguments = ("bulk", run, "--source", source, "--out", out)
    job = start(*arguments, "--ray", "2", folder=tmp_path)
    while len(list(blocks.glob("0*.txt"))) < 3 and job.poll() is None:
        time.sleep(0.05)
    job.send_signal(signal.SIGKILL)
    job.wait()
    assert blocks.exists() and not out.exists()
    assert dragoman(*arguments, "--resume").code == 0
    assert dragoman("bulk", run, "--source", source, "--out", tmp_path / "one.vi").code == 0
    assert out.read_bytes() == (tmp_path / "one.vi").read_bytes()
