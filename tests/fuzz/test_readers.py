"""What reads files of others refuses damaged ones in a sentence, whatever is in them. `python -m tests.fuzz` tries far more."""

import random
from pathlib import Path

import pytest
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import TARGETS
from tests.fuzz.targets import HEADER, NAMES, Target, cases_of, name_in, names_of, try_case

from dragoman.errors import InputError, RunError

QUICK = {"corpora": 50, "documents": 100, "recipes": 20, "runs": 10}
"""Targets, and numbers of cases, that take a moment; exports and pretrained models need other packages."""
SLOW = {**dict.fromkeys(TARGETS, 300), "doctor": 100}
EACH = [*QUICK.items(), *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW.items())]


def try_some(target: Target, count: int, place: Path, seed: int = 1) -> list[str]:
    """Try the intact files of a target and so many changes of them; return what went wrong."""
    intact, work, rng = place / "intact", place / "work" / "folder", random.Random(seed)
    (place / "work").mkdir()
    target.prepare(intact)
    whole = list(cases_of(intact))
    changed = (rng.choice(whole) for _ in range(count))
    cases = [*whole, *(one[:HEADER] + mutated(name_in(one, intact), one[HEADER:], rng) for one in changed)]
    faults = [try_case(target, one, intact=intact, work=work) for one in cases]
    return [f"{fault.what}\n{fault.details}" for fault in faults if fault is not None]


@pytest.mark.parametrize(("name", "count"), EACH)
def test_changed_files_are_read_or_refused_in_a_sentence(name: str, count: int, tmp_path: Path) -> None:
    if name in ("huggingface", "pretrained", "archives"):
        pytest.importorskip("transformers", reason="random models are made by transformers, which is not installed")
    if name == "ctranslate2":
        pytest.importorskip("ctranslate2", reason="exports need CTranslate2, which is not installed")
    assert try_some(TARGETS[name], count, tmp_path) == []


def test_every_target_is_named() -> None:
    assert set(NAMES) == {*TARGETS, "kernels"}


def write(folder: Path) -> None:
    """Write a folder of two files."""
    folder.mkdir()
    (folder / "a.json").write_text('{"size": 3, "name": "x"}')
    (folder / "b").write_text("text")


def careless(folder: Path, name: str) -> None:
    """Read a file without a thought."""
    if b"3" not in (folder / "a.json").read_bytes():
        raise KeyError("size")


def wordy(folder: Path, name: str) -> None:
    """Refuse a file in more than one sentence."""
    raise InputError("no " * 1000)


def endless(folder: Path, name: str) -> None:
    """Read a file for ever."""
    while True:
        pass


def greedy(folder: Path, name: str) -> None:
    """Take as much memory as a file asks for."""
    bytearray(5 << 30)


def refusing(folder: Path, name: str) -> None:
    """Refuse everything."""
    raise RunError(f"{folder / name} is damaged; copy it again")


@pytest.mark.parametrize(
    ("read", "what"),
    [(careless, "KeyError"), (wordy, "no sentence"), (endless, "Hangs"), (greedy, "MemoryError"), (refusing, "")],
)
def test_a_careless_reader_is_found(read, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.targets.SECONDS", 0.1)
    found = try_some(Target(write, read), 30 if read is careless else 0, tmp_path)
    assert all(one.startswith(what) for one in found) and bool(found) == bool(what)


def test_checksums_are_made_to_fit_only_where_a_case_says_so(tmp_path: Path) -> None:
    sealed: list[str] = []
    target = Target(write, lambda folder, name: None, lambda folder, name: sealed.append(name))
    assert try_some(target, 0, tmp_path) == []
    assert sealed == names_of(tmp_path / "intact") == ["a.json", "b"]


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.jsonl", "a.npz", "a.safetensors", "a.txt"])
def test_anything_can_be_changed(name: str) -> None:
    rng = random.Random(1)
    for content in (b"", b"{", b"\xff\xfe", b'{"a": [1, {"b": null}]}', b"a: [1, x]\n"):
        assert all(isinstance(mutated(name, content, rng), bytes) for _ in range(50))
