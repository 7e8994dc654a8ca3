"""Files come into place whole, or not at all."""

import os
import re
from pathlib import Path

import pytest

from dragoman.atomic import check_output, left_behind, remove_temporary_files, replacing, write_output, write_text
from dragoman.errors import InputError


def test_the_file_holds_the_content_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    write_output(tmp_path / "picture.svg", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.svg"]
    assert (tmp_path / "picture.svg").read_bytes() == b"content"


def test_an_old_file_stays_whole_where_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "picture.svg"
    path.write_bytes(b"old")

    def fail(*paths: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match=r"No space left on device\); make room"):
        write_output(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x" * 255, "字" * 85, "x" + "ữ" * 84], ids=["x", "three bytes", "cut within"])
def test_a_file_may_have_the_longest_name(tmp_path: Path, name: str) -> None:
    check_output(tmp_path / name)
    write_output(tmp_path / name, b"content")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "picture.svg"
    sentence = f"{path} cannot be written (No such file or directory); check that its folder exists and is writable"
    with pytest.raises(InputError, match=re.escape(sentence)):
        write_output(path, b"content")


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        write_output(tmp_path / "file" / "picture.svg", b"content")


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_output(tmp_path / "folder.svg", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]


def test_text_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(tmp_path / "a", "old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="No space"):
        write_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("name", [None, "temporary", "inside"])
def test_an_error_of_the_disk_names_the_file_that_was_to_be_written(tmp_path: Path, name: str | None) -> None:
    with pytest.raises(OSError, match="No space") as caught, replacing(tmp_path / "a") as temporary:
        named = {"temporary": [temporary], "inside": [str(temporary / "b")]}.get(name or "", [])
        raise OSError(28, "No space left on device", *named)
    assert caught.value.filename == str(tmp_path / ("a/b" if name == "inside" else "a"))


def test_a_folder_replaces_a_folder_whole(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for content in ("old", "new"):
        with replacing(folder) as temporary:
            temporary.mkdir()
            (temporary / content).touch()
    assert [path.name for path in folder.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [folder]


def test_an_old_folder_stays_where_writing_fails(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").touch()
    with pytest.raises(KeyboardInterrupt), replacing(folder) as temporary:
        temporary.mkdir()
        raise KeyboardInterrupt
    assert [path.name for path in folder.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [folder]


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".source.json.123.partial").touch()
    (tmp_path / ".store-abc.9.partial").mkdir()
    for name in ("notes.partial", ".hidden", "source.json"):
        (tmp_path / name).touch()
    remove_temporary_files(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"notes.partial", ".hidden", "source.json"}


def test_whether_a_file_can_be_written_is_known_before_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.html").write_text("old", encoding="utf-8")
    (tmp_path / "folder.html").mkdir()
    check_output(tmp_path / "new.html")
    check_output(tmp_path / "old.html")
    for path, reason in [
        (tmp_path / "nowhere" / "a.html", "No such file"),
        (tmp_path / "folder.html", "Is a directory"),
        (Path("."), "Is a directory"),
    ]:
        with pytest.raises(InputError, match=rf"cannot be written \({reason}"):
            check_output(path)
    assert {path.name for path in tmp_path.iterdir()} == {"old.html", "folder.html"}
    assert (tmp_path / "old.html").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("name", ["run", "a[b]*", "x" * 255])
def test_what_is_left_behind_of_a_file_is_found_and_nothing_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for other in (".run2.0123abcd.partial", ".run.partial", ".ab.0123abcd.partial", "run.0123abcd.partial"):
        (tmp_path / other).touch()
    with replacing(path) as temporary:
        temporary.mkdir()
        assert left_behind(path) == [temporary]
    assert left_behind(path) == []
