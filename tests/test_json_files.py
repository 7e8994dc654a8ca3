"""JSON files are read, or it is said in one sentence why not."""

from pathlib import Path

import pytest

from dragoman.errors import RunError
from dragoman.json_files import read_object


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
