"""Work that cannot fit into memory is refused before it starts."""

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


def test_the_memory_of_this_process_is_known() -> None:
    resident = memory.resident_memory()
    assert resident is None or 1e6 < resident < 1e12
