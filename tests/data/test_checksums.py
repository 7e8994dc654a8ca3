"""Checksums of files."""

import hashlib
import os
from pathlib import Path

import pytest

from dragoman.data import checksums as module
from dragoman.data.checksums import Checksums
from dragoman.errors import CorpusError


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the list of files whose bytes have been read."""
    read: list[Path] = []

    def note(path: Path) -> str:
        read.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(module, "file_checksum", note)
    return read


def test_a_checksum_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    assert Checksums().of(tmp_path / "a") == hashlib.sha256(b"text").hexdigest()


def test_an_unchanged_file_is_read_once(tmp_path: Path, reads: list[Path]) -> None:
    (tmp_path / "a").write_bytes(b"text")
    for _ in range(2):
        checksums = Checksums(tmp_path / "memory.json")
        expected = checksums.of(tmp_path / "a")
        checksums.save()
    assert expected == hashlib.sha256(b"text").hexdigest()
    assert len(reads) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "memory.json"]


def test_a_changed_file_is_read_again(tmp_path: Path, reads: list[Path]) -> None:
    path, checksums = tmp_path / "a", Checksums()
    path.write_bytes(b"text")
    first = checksums.of(path)
    path.write_bytes(b"TEXT")
    os.utime(path, ns=(1, 1))
    assert checksums.of(path) != first
    assert len(reads) == 2


def test_a_file_that_was_changed_is_read_again_though_size_and_time_are_those_from_before(tmp_path: Path) -> None:
    """As where a corrected corpus is unpacked from an archive that gives all files one time."""
    path = tmp_path / "a"
    checksums = []
    for content in (b"text", b"TEXT"):
        path.write_bytes(content)
        os.utime(path, ns=(1, 1))
        memory = Checksums(tmp_path / "memory.json")
        checksums.append(memory.of(path))
        memory.save()
    assert checksums == [hashlib.sha256(content).hexdigest() for content in (b"text", b"TEXT")]


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a": 1}', b"\xff", b"{"])
def test_a_damaged_memory_is_forgotten(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "memory.json").write_bytes(content)
    assert Checksums(tmp_path / "memory.json").of(tmp_path / "a") == hashlib.sha256(b"text").hexdigest()


def test_a_memory_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    Checksums(tmp_path / "nowhere" / "memory.json").save()
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorpusError, match=r"there is no file .*nowhere; check its path, and `data\.root`"):
        Checksums().of(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match="is a directory; give the path of a file"):
        Checksums().of(tmp_path)
    with pytest.raises(CorpusError, match=r"/dev/null is a pipe or a device, .*; write it to a file first"):
        Checksums().of(Path("/dev/null"))

    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a").write_bytes(b"text")
    monkeypatch.setattr(module, "file_checksum", refuse)
    with pytest.raises(CorpusError, match=r"a cannot be read \(Permission denied\); check its permissions"):
        Checksums().of(tmp_path / "a")
