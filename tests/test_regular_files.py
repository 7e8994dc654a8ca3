"""Only files are opened: what is none may never end."""

import os
from pathlib import Path

import pytest

from dragoman.regular_files import NotAFileError, open_file, require_file


def test_a_file_is_opened_through_a_link_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        require_file(tmp_path / name)
        with open_file(tmp_path / name) as stream:
            assert stream.read() == b"text"


@pytest.mark.parametrize("use", [open_file, require_file])
def test_what_is_no_file_is_refused_at_once(use, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "zero"):
        with pytest.raises(NotAFileError, match=rf"it is a pipe or a device, not a file.*{name}"):
            use(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        use(tmp_path)
    with pytest.raises(FileNotFoundError):
        use(tmp_path / "nothing")
    with pytest.raises(OSError, match="symbolic links"):
        use(tmp_path / "loop")


def test_nothing_stays_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(9):
        with pytest.raises(NotAFileError):
            open_file(tmp_path / "pipe")
    assert len(os.listdir("/proc/self/fd")) == before
