"""Pairs of text turned into rows."""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.spawn import get_preparation_data
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dragoman.data import encode as module
from dragoman.data.encode import Encoders, Row, encode_all, encode_rows
from dragoman.errors import CorpusError
from dragoman.text import Codec
from dragoman.text.links import parse_links


def test_rows_hold_ids_and_texts(codecs: tuple[Codec, Codec]) -> None:
    rows = encode_rows([Row("the cat", "eht tac"), Row("", "a")], codecs).to_pylist()
    assert rows[0] == {
        "source": codecs[0].encode("the cat"),
        "target": codecs[1].encode("eht tac"),
        "source_text": "the cat",
        "target_text": "eht tac",
        "links": None,
        "back": None,
    }
    assert rows[1]["source"] == []


def test_rows_hold_links_and_the_way_back(codecs: tuple[Codec, Codec]) -> None:
    linked = [
        Row("the cat", "eht tac", parse_links("1p0 0-1"), 3),
        Row("a", "a", parse_links("")),
        Row("a", "a", None, 1),
    ]
    rows = encode_rows(linked, codecs).to_pylist()
    assert [(row["links"], row["back"]) for row in rows] == [([[0, 1], [1, 0]], 3), ([], None), (None, 1)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("count", [0, 5, 6, 29, 30])
def test_all_pairs_are_encoded_in_order(
    workers: int, count: int, codecs: tuple[Codec, Codec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_PER_BATCH", 3)
    monkeypatch.setattr(module, "ProcessPoolExecutor", Here)
    pairs = [Row(f"the cat {'a ' * n}", str(n)) for n in range(count)]
    batches = list(encode_all(iter(pairs), codecs, Encoders(workers)))
    assert [row["target_text"] for rows in batches for row in rows.to_pylist()] == [pair.target for pair in pairs]
    assert all(rows.num_rows == 3 for rows in batches[:-1])
    assert Here.started == (1 if workers == 2 and count > 21 else 0)


@pytest.mark.slow
def test_other_processes_encode_alike(codecs: tuple[Codec, Codec], monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Row(f"the cat {'a ' * (n % 7)}", str(n), parse_links("1-0") if n % 3 else None, n % 2) for n in range(40)]
    monkeypatch.setattr(module, "ROWS_PER_BATCH", 4)
    there = list(encode_all(pairs, codecs, Encoders(2)))
    assert [rows.to_pylist() for rows in there] == [rows.to_pylist() for rows in encode_all(pairs, codecs, Encoders(1))]


def test_processes_do_not_run_the_program_that_starts_them(
    codecs: tuple[Codec, Codec], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = ModuleType("__main__")
    program.__file__ = "train.py"
    monkeypatch.setitem(sys.modules, "__main__", program)
    prepared: list[dict[str, Any]] = []

    def started(pool: Here, function: Any, *arguments: Any) -> Future[Any]:
        prepared.append(get_preparation_data("process"))
        return Here.do(function, *arguments)

    monkeypatch.setattr(module, "ROWS_PER_BATCH", 1)
    monkeypatch.setattr(module, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(Here, "submit", started)
    list(encode_all([Row("the cat", "eht tac")] * 10, codecs, Encoders(2)))
    assert len(prepared) == 10
    assert not any(name.startswith("init_main") for table in prepared for name in table)
    assert sys.modules["__main__"] is program


@pytest.mark.slow
def test_a_program_may_train_outside_of_a_guard(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("begun\n40\n", "")


PROGRAM = """
from dragoman.data import encode
from dragoman.text.codec import learn_codec
from dragoman.text.settings import WordsSettings
print("begun", flush=True)
encode.ROWS_PER_BATCH = 4
codec = learn_codec(WordsSettings(minimum_count=1), ["the cat"])
rows = encode.encode_all([encode.Row("the cat", "the")] * 40, (codec, codec), encode.Encoders(2))
print(sum(one.num_rows for one in rows))
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_processes_end_without_a_traceback_when_the_one_that_started_them_does(
    number: signal.Signals, tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text(STOPPED, encoding="utf-8")
    pipe, session = subprocess.PIPE, {"start_new_session": True}
    with subprocess.Popen([sys.executable, program], stdout=pipe, stderr=pipe, text=True, **session) as running:
        assert running.stdout is not None and running.stdout.readline() == "idle\n"
        if number == signal.SIGINT:
            os.killpg(running.pid, number)  # as a terminal does
        else:
            running.send_signal(number)
        output, errors = running.communicate(timeout=60)  # when the last has ended that could still write
        assert output == "" and "Traceback" not in errors


STOPPED = """
import time
from dragoman.data import encode
from dragoman.text.codec import learn_codec
from dragoman.text.settings import WordsSettings
encode.ROWS_PER_BATCH = 4
codec = learn_codec(WordsSettings(minimum_count=1), ["the cat"])
def rows():
    yield from [encode.Row("the cat", "the")] * 40
    time.sleep(1)
    print("idle", flush=True)
    time.sleep(300)
try:
    list(encode.encode_all(rows(), (codec, codec), encode.Encoders(2)))
except KeyboardInterrupt:
    pass
"""


def test_a_corpus_is_not_read_ahead_without_bound(codecs: tuple[Codec, Codec], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_PER_BATCH", 1)
    monkeypatch.setattr(module, "ProcessPoolExecutor", Here)
    read = 0

    def long() -> Iterator[Row]:
        nonlocal read
        for _ in range(300):
            read += 1
            yield Row("the cat", "eht tac")

    list(itertools.islice(encode_all(long(), codecs, Encoders(2)), 50))
    assert read <= 50 + module.SMALLEST_PARALLEL + 4


def test_a_process_that_is_killed_ends_encoding_with_a_sentence(
    codecs: tuple[Codec, Codec], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(pool: Here, function: Any, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool("gone"))
        return future

    monkeypatch.setattr(module, "ROWS_PER_BATCH", 1)
    monkeypatch.setattr(module, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(Here, "submit", killed)
    with pytest.raises(CorpusError, match=r"one of the 2 processes that encode the corpus was killed"):
        list(encode_all([Row("the cat", "eht tac")] * 10, codecs, Encoders(2)))


class Here:
    """Does in this process what others would do."""

    started = 0

    def __init__(self, workers: int, context: object, initializer: object) -> None:
        Here.started = 1

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        """Do it now."""
        return self.do(function, *arguments)

    @staticmethod
    def do(function: Any, *arguments: Any) -> Future[Any]:
        """Return the result of a function as that of another process."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


@pytest.fixture(autouse=True)
def _nothing_started() -> None:
    Here.started = 0
