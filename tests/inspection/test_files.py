"""Files come into place whole, or not at all."""

import os
import re
from pathlib import Path

import pytest

from dragoman.errors import InputError
from dragoman.inspection.files import write_whole


def test_the_file_holds_the_content_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    write_whole(tmp_path / "picture.svg", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.svg"]
    assert (tmp_path / "picture.svg").read_bytes() == b"content"


def test_an_old_file_stays_whole_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "picture.svg"
    path.write_bytes(b"old")

    def fail(*paths: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "picture.svg"
    sentence = (
        f"{path} cannot be written (No such file or directory); check that its folder exists and may be written to"
    )
    with pytest.raises(InputError, match=re.escape(sentence)):
        write_whole(path, b"content")


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path / "file" / "picture.svg", b"content")


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path / "folder.svg", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]
