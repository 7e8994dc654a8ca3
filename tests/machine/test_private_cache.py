"""Folders of compiled code belong to the user alone."""

import os
from pathlib import Path

import pytest

from dragoman.machine.private_cache import (
    COMPILER_CACHE,
    CacheError,
    locked,
    private_folder,
    require_compiler_cache,
    require_private,
    set_compiler_cache,
)

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs the permissions of POSIX")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(COMPILER_CACHE, raising=False)
    return tmp_path / "dragoman"


def test_a_new_folder_is_the_user_s_alone(home: Path) -> None:
    folder = private_folder("native", "abc")
    assert folder == home / "native" / "abc"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_folder("native", "abc") == folder


def test_a_folder_that_others_may_write_to_is_refused(home: Path) -> None:
    private_folder("native").chmod(0o777)
    with pytest.raises(CacheError, match="native is writable by other users"):
        private_folder("native")


def test_a_link_is_refused(home: Path, tmp_path: Path) -> None:
    private_folder()
    (home / "native").symlink_to(tmp_path)
    with pytest.raises(CacheError, match="native is writable by other users"):
        private_folder("native")


def test_what_another_user_owns_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").write_text("code")
    stranger = (tmp_path / "theirs").stat().st_uid + 7
    if os.getuid() == 0:
        os.chown(tmp_path / "theirs", stranger, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: stranger)
    with pytest.raises(CacheError, match="writable by other users"):
        require_private(tmp_path / "theirs")


def test_a_cache_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "dragoman").write_text("a file")
    with pytest.raises(CacheError, match="no cache folder"):
        private_folder("native")


def test_a_lock_empties_no_file_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "thesis")
    with pytest.raises(OSError, match="lock"), locked(tmp_path / "lock"):
        pass
    assert (tmp_path / "thesis").read_text() == "precious"
    with locked(tmp_path / "thesis"):
        pass
    assert (tmp_path / "thesis").read_text() == "precious"


def test_torch_s_compiler_gets_a_private_folder_unless_one_is_named(home: Path) -> None:
    environment: dict[str, str] = {}
    set_compiler_cache(environment)
    assert environment == {COMPILER_CACHE: str(home / "inductor")}
    own = {COMPILER_CACHE: "elsewhere"}
    set_compiler_cache(own)
    assert own == {COMPILER_CACHE: "elsewhere"}


def test_torch_s_own_folder_is_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    monkeypatch.setenv(COMPILER_CACHE, default_cache_dir())
    require_compiler_cache()
    assert os.environ[COMPILER_CACHE] == str(home / "inductor")


def test_a_named_folder_must_be_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPILER_CACHE, str(tmp_path / "own"))
    require_compiler_cache()
    assert os.environ[COMPILER_CACHE] == str(tmp_path / "own")
    (tmp_path / "own").chmod(0o777)
    with pytest.raises(CacheError, match="own is writable by other users"):
        require_compiler_cache()
