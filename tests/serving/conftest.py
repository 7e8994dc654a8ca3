"""What tests of the service share."""

import secrets
from collections.abc import Iterator

import pytest
from tests.serving.postgresql import postgresql


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    with postgresql() as address:
        yield address


@pytest.fixture
def postgresql_database(postgresql_server: str) -> Iterator[str]:
    """Give the address of a new, empty database."""
    import psycopg

    name = f"test_{secrets.token_hex(4)}"
    with psycopg.connect(postgresql_server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield postgresql_server.format(name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
