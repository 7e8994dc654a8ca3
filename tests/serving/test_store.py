"""Tables in SQLite and in PostgreSQL."""

import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.errors import InputError
from dragoman.serving.store import MEMORY, StoreError, open_store


def count_up(store, times: int) -> None:
    for _ in range(times):
        store.run(
            "INSERT INTO usage (identifier, period, characters, requests) VALUES (?, ?, 1, 1) ON CONFLICT "
            "(identifier, period) DO UPDATE SET characters = usage.characters + excluded.characters",
            *("a", "2030-01"),
        )


def test_a_store_outlives_its_connection_and_only_its_owner_reads_it(tmp_path: Path):
    place = tmp_path / "keys.sqlite"
    store = open_store(str(place))
    count_up(store, 3)
    store.close()
    assert open_store(str(place)).run("SELECT characters FROM usage WHERE identifier = ?", "a") == [(3,)]
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_two_connections_and_several_threads_count_together(tmp_path: Path):
    one, other = (open_store(str(tmp_path / "keys.sqlite")) for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda store: count_up(store, 20), [one, other, one, other]):
            pass
    assert other.run("SELECT characters FROM usage") == [(80,)]


def test_a_store_in_memory_is_its_own():
    count_up(open_store(MEMORY), 1)
    assert open_store(MEMORY).run("SELECT characters FROM usage") == []


def test_what_is_no_place_for_a_store_is_refused(tmp_path: Path):
    for place, words in (
        (str(tmp_path / "none" / "keys.sqlite"), "folder"),
        ("mysql://here/keys", "mysql:// is no address"),
        (str(tmp_path), "cannot be used"),
    ):
        with pytest.raises(InputError, match=words):
            open_store(place)
    damaged = tmp_path / "text.sqlite"
    damaged.write_text("This is no database, and long enough to be seen as such.\n" * 50)
    with pytest.raises(InputError, match=r"text\.sqlite cannot be used as a database .*folder with room"):
        open_store(str(damaged))


def test_postgresql_without_its_package_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r"dragoman\[postgresql\]"):
        open_store("postgresql://localhost/keys")


def test_what_a_database_refuses_is_said_in_one_sentence():
    store = open_store(MEMORY)
    with pytest.raises(StoreError, match=r"no such table: none.*try again") as caught:
        store.run("SELECT * FROM none")
    assert isinstance(caught.value, InputError) and "\n" not in str(caught.value)


def test_a_database_that_does_not_answer_is_named_without_its_password():
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with pytest.raises(InputError) as caught:
        open_store("postgresql://me:secret@127.0.0.1:1/keys")
    assert "127.0.0.1:1/keys" in str(caught.value) and "secret" not in str(caught.value)


def test_several_servers_share_postgresql_and_a_lost_connection_is_made_anew(postgresql_database: str):
    one, other = open_store(postgresql_database), open_store(postgresql_database)
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda store: count_up(store, 10), [one, other, one, other]):
            pass
    assert other.run("SELECT characters FROM usage WHERE identifier = ?", "a") == [(40,)]
    other.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dragoman' AND pid <> pg_backend_pid()"
    )
    assert one.run("SELECT characters FROM usage") == [(40,)]
    one.close()
    other.close()
