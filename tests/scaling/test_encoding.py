"""Encoding on Ray: the corpus is that of one process, byte for byte, also where workers were killed."""

import sys
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.scaling.cluster import ended, kill, needs_ray, processes, start
from tests.tiny import recipe_file

from dragoman.data import encode
from dragoman.data.encode import Encoders, Row, encode_all
from dragoman.errors import CorpusError
from dragoman.scaling.encoding import Encoder, ray_encoders, ray_processes
from dragoman.text import CharactersSettings, Codec, learn_codecs

TEXTS = [("the cat", "eht tac"), ("a", "a"), ("the", "eht")]


class DiedError(Exception):
    """What Ray raises where a process has died too often."""


@pytest.fixture(scope="module")
def codecs() -> tuple[Codec, Codec]:
    """Codecs of letters."""
    return learn_codecs(CharactersSettings(), lambda: TEXTS)


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let objects of this process stand for those of a cluster with three free CPUs; return what was ended."""
    ended: list[Any] = []

    class Remote:
        """A process, or one of its methods."""

        def __init__(self, call: Any) -> None:
            self.call = call

        def remote(self, *arguments: Any) -> Any:
            made = self.call(*arguments)
            if isinstance(made, Encoder):
                return SimpleNamespace(encode=Remote(made.encode))
            future: Future[Any] = Future()
            future.set_result(made)
            return SimpleNamespace(future=lambda: future)

    stand_in = SimpleNamespace(
        remote=lambda **options: Remote,
        kill=ended.append,
        available_resources=lambda: {"CPU": 3.0},
        exceptions=SimpleNamespace(ActorDiedError=DiedError),
    )
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    return ended


def rows(number: int) -> list[Row]:
    """Return rows of a corpus."""
    return [Row(*TEXTS[at % 3]) for at in range(number)]


def test_rows_come_in_order_and_the_processes_end(
    codecs: tuple[Codec, Codec], killed: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "ROWS_PER_BATCH", 2)
    there = [batch.to_pylist() for batch in encode_all(rows(41), codecs, Encoders(3, ray_processes))]
    assert there == [batch.to_pylist() for batch in encode_all(rows(41), codecs, Encoders())]
    assert len(killed) == 3


def test_processes_end_where_the_reader_stops(codecs: tuple[Codec, Codec], killed: list[Any]) -> None:
    with pytest.raises(KeyboardInterrupt), ray_processes(codecs, 2):
        raise KeyboardInterrupt
    assert len(killed) == 2


def test_deaths_without_end_are_one_sentence(codecs: tuple[Codec, Codec], killed: list[Any]) -> None:
    with pytest.raises(CorpusError, match=r"died more than \d+ times \(out of memory\)"), ray_processes(codecs, 2):
        raise DiedError("The actor died.\nout of memory")
    assert len(killed) == 2


@pytest.mark.usefixtures("killed")
def test_all_cpus_encode_that_are_free_or_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert ray_encoders() == Encoders(5, ray_processes)


@needs_ray
@pytest.mark.slow
def test_a_corpus_is_encoded_once_though_an_encoder_is_killed(tmp_path: Path) -> None:
    lines = [f"the cat {at} of {at % 7}" for at in range(400_000)]
    for side in ("en", "vi"):
        (tmp_path / f"train.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    corpus = f"data.train=[{{source: {tmp_path}/train.en, target: {tmp_path}/train.vi}}]"
    path = recipe_file(tmp_path, "rnn", "training.steps=2", "text.kind=characters", corpus)
    stores = []
    for name, deaths in (("alone", 0), ("whole", 0), ("killed", 1)):
        options = ["--ray", "2"] if name != "alone" else []
        job = start("train", path, "--out", tmp_path / name / "run", *options, folder=tmp_path)
        dead = set[int]()
        while job.poll() is None and len(dead) < deaths:
            for pid in list(processes("ray::Encoder.encode"))[:1]:
                kill(pid)
                dead.add(pid)
        ended(job, tmp_path)
        assert len(dead) == deaths
        stores.append({file.name: file.read_bytes() for file in sorted((tmp_path / name / ".cache").glob("store-*/*"))})
    assert len(stores[0]) == 3
    assert stores[0] == stores[1] == stores[2]
