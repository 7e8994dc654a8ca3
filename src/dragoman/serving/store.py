"""Tables that outlive a server: a SQLite file, or a PostgreSQL database that several servers share."""

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dragoman.errors import InputError

MEMORY = ":memory:"
"""The store that ends with the server."""

SCHEMES = ("postgresql", "postgres")
BUSY_SECONDS = 10.0
"""How long a statement waits for another process that writes to the same SQLite file."""

LOCK = 0x64726167
"""Number of the lock under which one server at a time creates tables in PostgreSQL."""

TABLES = (
    """CREATE TABLE IF NOT EXISTS keys (
        identifier TEXT PRIMARY KEY, hash TEXT NOT NULL, name TEXT NOT NULL, rate BIGINT, quota BIGINT,
        created DOUBLE PRECISION NOT NULL, revoked DOUBLE PRECISION)""",
    "CREATE TABLE IF NOT EXISTS rates (identifier TEXT PRIMARY KEY, due DOUBLE PRECISION NOT NULL)",
    """CREATE TABLE IF NOT EXISTS usage (
        identifier TEXT NOT NULL, period TEXT NOT NULL, characters BIGINT NOT NULL, requests BIGINT NOT NULL,
        PRIMARY KEY (identifier, period))""",
    """CREATE TABLE IF NOT EXISTS glossaries (
        identifier TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS dictionaries (
        glossary TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, entries TEXT NOT NULL, size BIGINT NOT NULL,
        PRIMARY KEY (glossary, source, target))""",
)
"""The same statements for both databases."""


class StoreError(InputError):
    """A database that cannot be used."""


class Store:
    """A database. Each statement is one transaction; a store may be used by several threads, one at a time."""

    def __init__(
        self, connect: Callable[[], Any], *, mark: str, lost: tuple[type[Exception], ...], errors: type[Exception]
    ) -> None:
        self._connect, self._mark, self._lost, self._errors = connect, mark, lost, errors
        self._lock = threading.Lock()
        self._connection = connect()

    def run(self, statement: str, *values: object) -> list[Sequence[Any]]:
        """Run a statement, whose values are marked by `?`, and return its rows.

        A connection that the database has ended is made anew, once. StoreError if that is not possible, or the database refuses.
        """
        with self._lock:
            try:
                try:
                    return self._run(statement, values)
                except self._lost:
                    self._connection.close()
                    self._connection = self._connect()
                    return self._run(statement, values)
            except self._errors as error:
                raise StoreError(f"the database cannot be used ({_reason(error)}); try again later") from error

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._connection.close()

    def _run(self, statement: str, values: Sequence[object]) -> list[Sequence[Any]]:
        """Run a statement on the connection that there is."""
        cursor = self._connection.execute(statement.replace("?", self._mark), values)
        return cursor.fetchall() if cursor.description else []


def open_store(place: str) -> Store:
    """Open the database at a path, which becomes a SQLite file, or at a postgresql:// address. InputError if it cannot be."""
    if urlsplit(place).scheme in SCHEMES:
        return _postgresql(place)
    if "://" in place:
        raise InputError(
            f"{place.split('://')[0]}:// is no address of a database; give a file or a postgresql:// address"
        )
    return _sqlite(place)


def _sqlite(place: str) -> Store:
    """Open a SQLite file that only its owner may read, and create what it lacks."""

    def connect() -> sqlite3.Connection:
        try:
            if place != MEMORY:
                os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            connection = sqlite3.connect(place, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            for table in TABLES:
                connection.execute(table)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{place} cannot be used as a database ({error}); give a SQLite file in a folder with room that you can write to"
            ) from error
        return connection

    return Store(connect, mark="?", lost=(), errors=sqlite3.Error)


def _postgresql(address: str) -> Store:
    """Connect to PostgreSQL, and create what it lacks."""
    try:
        import psycopg
    except ModuleNotFoundError:
        raise InputError(
            "a postgresql:// address needs the package psycopg; install it with `pip install dragoman[postgresql]`"
        ) from None

    def connect() -> Any:
        try:
            connection = psycopg.connect(
                address, autocommit=True, connect_timeout=int(BUSY_SECONDS), application_name="dragoman"
            )
            connection.execute(f"SELECT pg_advisory_lock({LOCK})")
            for table in TABLES:
                connection.execute(table)
            connection.execute(f"SELECT pg_advisory_unlock({LOCK})")
        except psycopg.Error as error:
            raise StoreError(
                f"the PostgreSQL database at {_without_password(address)} cannot be used ({_reason(error)}); check its address"
            ) from error
        return connection

    return Store(connect, mark="%s", lost=(psycopg.OperationalError,), errors=psycopg.Error)


def _reason(error: Exception) -> str:
    """Return the first line of what a database says."""
    return str(error).strip().split("\n")[0]


def _without_password(address: str) -> str:
    """Return an address as messages show it.

    >>> _without_password("postgresql://me:secret@db:5432/keys?password=secret")
    'db:5432/keys'
    """
    parts = urlsplit(address)
    return f"{parts.netloc.rpartition('@')[2] or 'localhost'}{parts.path}"


def exists(place: str) -> bool:
    """Tell whether a database is there already; of one at an address it is assumed."""
    return urlsplit(place).scheme in SCHEMES or Path(place).is_file()
