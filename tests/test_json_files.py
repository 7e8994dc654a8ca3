"""JSON files are read, or it is said in one sentence why not."""

import json
import os
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import json_files as module
from dragoman.errors import RunError
from dragoman.json_files import parse_json, read_object


def read(path: Path) -> dict[str, object]:
    """Read a file."""
    return read_object(path, RunError, missing="there is none", damaged="restore it")


def test_an_object_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"a": "ế"}', encoding="utf-8")
    assert read(tmp_path / "file") == {"a": "ế"}


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"[" * 100_000, b"\xff"])
def test_anything_else_is_damaged(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(RunError, match=r"file is damaged; restore it$"):
        read(tmp_path / "file")


def test_a_file_that_is_not_there_or_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"^there is none$"):
        read(tmp_path / "file")
    with pytest.raises(RunError, match=r"cannot be read \(Is a directory\); check its permissions"):
        read(tmp_path)


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(RunError, match=rf"{name} cannot be read \(it is a pipe or a device, not a file\)"):
            read(tmp_path / name)


def test_a_file_that_is_too_large_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 9)
    (tmp_path / "file").write_text('{"a": 10}')
    assert read(tmp_path / "file") == {"a": 10}
    (tmp_path / "file").write_text('{"a": 100}')
    with pytest.raises(RunError, match=r"file is damaged; restore it$"):
        read(tmp_path / "file")


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"a": 10}')
    read(tmp_path / "file")
    tracemalloc.start()
    try:
        read(tmp_path / "file")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES)
def test_any_value_survives_writing_and_reading(value: object) -> None:
    assert parse_json(json.dumps(value)) == value


@given(st.binary() | st.sampled_from([b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000]))
def test_any_bytes_are_a_value_or_no_json(content: bytes) -> None:
    with suppress(ValueError):
        json.dumps(parse_json(content))
