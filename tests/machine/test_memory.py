"""Work that cannot fit into memory is refused before it starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.errors import InputError
from dragoman.machine import memory


def test_what_fits_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda device: 1000)
    memory.require_memory(1000, "a search", "make it smaller")
    with pytest.raises(InputError) as caught:
        memory.require_memory(3_000_000_000, "a search", "make it smaller")
    assert all(part in str(caught.value) for part in ("a search", "3.0 GB", "make it smaller"))


def test_unknown_memory_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda device: None)
    memory.require_memory(10**20, "a search", "make it smaller")


def test_some_memory_is_free_here() -> None:
    free = memory.free_memory()
    assert free is None or free > 1_000_000


@pytest.mark.parametrize(
    ("line", "folder", "files"),
    [
        ("0::/a/job", "a/job", ("memory.max", "memory.current", "")),
        ("0::/elsewhere", "", ("memory.max", "memory.current", "")),
        ("4:memory:/a/job", "memory/a", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")),
    ],
)
def test_what_a_container_may_use_is_all_that_is_free(
    line: str, folder: str, files: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").write_text(f"3:cpuset:/\n{line}\n", encoding="ascii")
    group = tmp_path / "groups" / folder
    group.mkdir(parents=True)
    limit, used, prefix = files
    (group / used).write_text("500000\n", encoding="ascii")
    statistics = f"active_file 7\n{prefix}inactive_file 30000\n{prefix}active_file 1000\n"
    (group / "memory.stat").write_text(statistics if prefix else statistics[14:], encoding="ascii")
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
    for most, free in ((600_000, 131_000), (400_000, 0)):
        (group / limit).write_text(f"{most}\n", encoding="ascii")
        assert memory.free_memory() == free
    (group / limit).write_text("max\n", encoding="ascii")
    assert (memory.free_memory() or 0) > 1_000_000


def test_the_memory_of_this_process_is_known() -> None:
    resident = memory.resident_memory()
    assert resident is None or 1e6 < resident < 1e12


def test_without_linux_files_memory_is_asked_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    own = memory.peak_resident_memory()

    def missing(path: Path, **_: object) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", missing)
    whole, peak = memory.free_memory(), memory.peak_resident_memory()
    assert memory.resident_memory() is None
    assert whole == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert own is not None and peak is not None and peak >= 0.9 * own
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory.free_memory() is None and memory.peak_resident_memory() is None


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a program's own peak")
def test_the_peak_is_that_of_this_program_not_of_the_one_that_started_it() -> None:
    measure = "from dragoman.machine.memory import peak_resident_memory; print(peak_resident_memory())"
    start = f"import subprocess, sys; much = b'x' * 300_000_000; subprocess.run([sys.executable, '-c', {measure!r}])"
    small, large = (
        int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
        for code in (measure, start)
    )
    assert 1e6 < small < 200e6 and large < small + 50e6


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only the GNU C library has to be asked")
def test_freed_memory_is_returned() -> None:
    program = """
import ctypes
from dragoman.machine.memory import resident_memory, return_freed_memory
library = ctypes.CDLL(None)
library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [library.malloc(65536) for _ in range(1000)]
for block in blocks:
    ctypes.memset(block, 1, 65536)
for block in blocks[:-1]:  # the last one keeps the library from returning those before it
    library.free(block)
before = resident_memory()
return_freed_memory()
print(before - resident_memory())
"""
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(made.stdout) > 50_000_000


def test_where_no_library_can_be_asked_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    memory.return_freed_memory()
