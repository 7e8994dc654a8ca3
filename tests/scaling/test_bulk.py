"""Bulk translation on Ray: what one process writes, also where a worker was killed, and mistakes end it at once."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.scaling.cluster import ended, kill, needs_ray, processes, start, wait_for
from tests.tiny import Trained

from dragoman.errors import InputError
from dragoman.inference.translator import Translator
from dragoman.jobs import translate_corpus
from dragoman.jobs.bulk import folder_of, translate_file
from dragoman.scaling import bulk
from dragoman.scaling.bulk import OnRay, _Process, share_on_ray
from dragoman.scaling.cluster import Workers

WORDS = ["I love cats.", "No.", "", "This is a book.", "The cat sleeps.", "Yes.", "I love books."]


class Died(Exception):
    """What ends a job."""


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of two lines."""
    monkeypatch.setattr(translate_corpus, "CHUNK", 2)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write a file of four chunks."""
    path = tmp_path / "text.en"
    path.write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")
    return path


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let one process of this one stand for a cluster; return the numbers of the chunks that it was told."""
    numbers: list[int] = []

    def rest(shared: OnRay, corpus: Any, done: int) -> Iterator[Any]:
        process = _Process(shared.work)
        for number in range(done // shared.work.chunk, 4):
            numbers.append(number)
            (found,) = process({"number": [number]})["found"]
            row = json.loads(found)
            if "error" in row:
                raise bulk.error_named(row["error"])(row["sentence"])
            yield row["rows"], row["end"]

    monkeypatch.setattr(OnRay, "__call__", rest)
    return numbers


def translate(run: Path, source: Path, out: Path, *, most: int = 1, **options: Any) -> int:
    """Translate on a cluster, or on what stands for one."""
    translator = Translator.load(run, beam=2)
    shared = share_on_ray(translator, [run], source, workers=Workers(1, most), device="cpu", to=None)
    return translate_file(translator, [run], source, out=out, rest=shared, **options)


def test_a_process_translates_chunks_as_one_job_does(
    trained: Trained, source: Path, tmp_path: Path, told: list[int]
) -> None:
    run = trained("rnn")
    assert translate(run, source, tmp_path / "shared") == len(WORDS) and told == [0, 1, 2, 3]
    translate_file(Translator.load(run, beam=2), [run], source, out=tmp_path / "alone")
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()


def test_a_job_is_continued_where_its_file_ends_with_a_cluster_or_without(
    trained: Trained, source: Path, tmp_path: Path, told: list[int]
) -> None:
    def stop(progress: Any) -> None:
        raise Died

    run, out = trained("rnn"), tmp_path / "out"
    with pytest.raises(Died):
        translate_file(Translator.load(run, beam=2), [run], source, out=out, report=stop)
    translate(run, source, out, resume=True)
    assert told == [1, 2, 3]
    whole = out.read_bytes()
    out.unlink()
    with pytest.raises(Died):
        translate(run, source, out, report=stop)
    translate_file(Translator.load(run, beam=2), [run], source, out=out, resume=True)
    assert out.read_bytes() == whole


def test_a_job_that_was_stopped_at_its_very_end_is_continued_without_another_line(
    trained: Trained, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(progress: Any) -> None:
        if progress.sentences == len(WORDS):
            raise Died

    run, out = trained("rnn"), tmp_path / "out"
    with pytest.raises(Died):
        translate_file(Translator.load(run, beam=2), [run], source, out=out, report=stop)
    partial = (folder_of(out) / "translations.partial").read_bytes()
    monkeypatch.setattr(bulk, "cluster", None)  # nothing is left to translate
    assert translate(run, source, out, resume=True) == len(WORDS)
    assert out.read_bytes() == partial


def test_a_process_reads_the_file_again_for_an_earlier_chunk(trained: Trained, source: Path) -> None:
    run = trained("rnn")
    work = bulk._Work((run,), source, Path.cwd(), Translator.load(run).settings.model_dump(mode="json"), "cpu", None, 2)
    process = _Process(work)
    ends = [json.loads(process({"number": [number]})["found"][0])["end"] for number in (2, 3, 0, 1)]
    assert ends == [6, 7, 2, 4]


def test_a_mistake_of_the_user_is_returned_rather_than_repeated(trained: Trained, source: Path, tmp_path: Path) -> None:
    run = shutil.copytree(trained("rnn"), tmp_path / "run")
    translator = Translator.load(run, beam=2)
    shared = share_on_ray(translator, [run], source, workers=Workers(1, 1), device="cpu", to=None)
    (run / "model.safetensors").unlink()
    process = _Process(shared.work)
    found = json.loads(process({"number": [0]})["found"][0])
    assert "model.safetensors" in found["sentence"] and found["error"] in ("RunError", "InputError")


def test_ray_hands_out_chunks_once_and_in_order(
    trained: Trained, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Data:
        """Stands for Ray Data, as far as it is asked."""

        def __init__(self, rows: list[dict[str, Any]]) -> None:
            self.rows = rows

        def map_batches(self, kind: Any, *, fn_constructor_args: Any, batch_size: int, **options: Any) -> "Data":
            process = kind(*fn_constructor_args)
            assert batch_size == 1 and options["compute"] == {"min_size": 1, "max_size": 8}
            found = [process({name: [value] for name, value in row.items()}) for row in self.rows]
            return Data([{name: values[0] for name, values in one.items()} for one in found])

        def iter_rows(self) -> Iterator[dict[str, Any]]:
            return iter(self.rows)

    context = SimpleNamespace(execution_options=SimpleNamespace(preserve_order=False), enable_progress_bars=True)
    data = SimpleNamespace(
        DataContext=SimpleNamespace(get_current=lambda: context),
        ActorPoolStrategy=dict,
        from_items=lambda rows, override_num_blocks: Data(rows),
    )
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(data=data))
    monkeypatch.setitem(sys.modules, "ray.data", data)

    @contextmanager
    def cluster(workers: Workers, *, on_gpu: bool) -> Iterator[None]:
        yield

    monkeypatch.setattr(bulk, "cluster", cluster)
    run = trained("rnn")
    assert translate(run, source, tmp_path / "shared", most=8) == len(WORDS)
    translate_file(Translator.load(run, beam=2), [run], source, out=tmp_path / "alone")
    assert (tmp_path / "shared").read_bytes() == (tmp_path / "alone").read_bytes()
    assert context.execution_options.preserve_order and not context.enable_progress_bars
    monkeypatch.setattr(_Process, "read", _refuse)
    with pytest.raises(InputError, match=r"a sentence"):
        translate(run, source, tmp_path / "refused", most=8)


def _refuse(process: _Process, number: int) -> Any:
    """Refuse a chunk."""
    raise InputError("a sentence")


@needs_ray
@pytest.mark.slow
def test_a_worker_of_ray_that_is_killed_loses_nothing(trained: Trained, tmp_path: Path) -> None:
    run, source, out = trained("rnn"), tmp_path / "text.en", tmp_path / "text.vi"
    source.write_text("".join(f"{WORDS[at % 7]} {at}\n" for at in range(20_000)), encoding="utf-8")
    job = start("bulk", run, "--source", source, "--out", out, "--ray", "2", folder=tmp_path)
    wait_for(folder_of(out) / "translations.place", job)
    found = processes("ray::MapWorker")
    assert len(found) == 2, "Ray names its processes after what they do"
    for pid in list(found)[:1]:
        kill(pid)
    assert ended(job, tmp_path) == f"{out}\n"
    alone = start("bulk", run, "--source", source, "--out", tmp_path / "alone.vi", folder=tmp_path)
    ended(alone, tmp_path)
    assert out.read_bytes() == (tmp_path / "alone.vi").read_bytes()
