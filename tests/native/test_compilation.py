"""C++ parts are compiled once, in a folder of the user's own, and never in silence for long."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.native import compilation
from dragoman.native.compilation import (
    DECODING,
    LOSS,
    RECURRENCE,
    NativeError,
    Part,
    available,
    find_compiler,
    loaded,
    prepare,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="C++ parts are for Linux")


@pytest.fixture(autouse=True)
def nothing_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compilation, "loaded", compilation.cache(lambda part: False))


def compiler(folder: Path, script: str) -> str:
    """Return the command of a compiler that is a script."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize("part", [RECURRENCE, LOSS, DECODING], ids=lambda part: part.name)
def test_a_compiler_that_fails_is_named(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(NativeError, match="compiler false"):
        prepare(part)


def test_a_compiler_that_is_not_there_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nonexistent/g++ -std=c++20")
    with pytest.raises(NativeError, match=r"compiler /nonexistent/g\+\+ .* could not be started \(No such file .* CXX"):
        prepare(DECODING)


def test_a_blank_name_of_a_compiler_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", " ")
    monkeypatch.setenv("PATH", "")
    assert find_compiler() is None


def test_without_a_compiler_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NativeError, match="no C\\+\\+ compiler"):
        prepare(DECODING)


def test_a_library_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", compiler(tmp_path, 'while [ "$1" != -o ]; do shift; done; echo broken > "$2"'))
    with pytest.raises(NativeError, match=r"decoding\.so cannot be loaded .* delete it"):
        prepare(DECODING)


def test_a_lock_that_another_user_placed_empties_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "false")
    (tmp_path / "thesis").write_text("precious")
    folder = tmp_path / "dragoman" / "native" / compilation._fingerprint(DECODING, "false")
    folder.mkdir(parents=True, mode=0o700)
    (folder / "decoding.lock").symlink_to(tmp_path / "thesis")
    with pytest.raises(NativeError, match="cache folder"):
        prepare(DECODING)
    assert (tmp_path / "thesis").read_text() == "precious"


def test_nothing_is_opened_in_a_folder_that_others_may_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "false")
    folder = tmp_path / "dragoman" / "native" / compilation._fingerprint(DECODING, "false")
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with pytest.raises(NativeError, match="writable by other users"):
        prepare(DECODING)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("seconds", "said"), [(0.01, 1), (60.0, 0)])
def test_compiling_is_said_only_when_it_takes_long(
    seconds: float, said: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "SILENT_SECONDS", seconds)
    monkeypatch.setenv("CXX", compiler(tmp_path, "sleep 0.3; false"))
    sentences: list[str] = []
    with pytest.raises(NativeError):
        prepare(DECODING, sentences.append)
    assert [sentence.startswith("Compiling") for sentence in sentences] == [True] * said


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_is_told_what_translating_waits_for(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compilation, "SILENT_SECONDS", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("CXX", compiler(tmp_path, "sleep 0.3; false"))
    unknown: Callable[[Part], bool] = available.__wrapped__
    assert not unknown(DECODING)
    assert ("Compiling" in capsys.readouterr().err) == terminal


def test_operations_that_torch_does_not_know_are_not_loaded() -> None:
    assert not loaded(Part("none", "nothing", ("dragoman_nothing", "nothing")))
