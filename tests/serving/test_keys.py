"""API keys: found by what they are, counted, limited, revoked; the same in SQLite and in PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman.errors import InputError
from dragoman.serving.keys import Keys
from dragoman.serving.store import MEMORY, open_store


@dataclass
class Clock:
    """A time that a test sets."""

    seconds: float = 1_900_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def keys(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Keys]:
    store = open_store(request.getfixturevalue("postgresql_database") if request.param == "postgresql" else MEMORY)
    yield Keys(store, clock)
    store.close()


def test_a_key_is_known_rated_counted_and_revoked(keys: Keys, clock: Clock):
    key = keys.add("weblate", rate=2, quota=100)
    assert keys.add("other") != key
    found = keys.find(key)
    assert found is not None and (found.name, found.rate, found.quota, found.characters) == ("weblate", 2, 100, 0)
    for wrong in ("", "dragoman", key[:-1], key + "x", key.upper(), key.replace("dragoman", "x"), "ünknown\ud800"):
        assert keys.find(wrong) is None

    assert [keys.wait(found), keys.wait(found)] == [0, 0]
    assert keys.wait(found) == pytest.approx(30)
    clock.seconds += 31
    assert keys.wait(found) == 0 and keys.wait(found) > 0

    assert keys.spend(found, 60) and not keys.spend(found, 41) and keys.spend(found, 40)
    assert not keys.spend(found, 1) and keys.spend(found, 0)
    keys.give_back(found, 10)
    assert keys.spend(found, 10)
    known = keys.find(key)
    assert known is not None and (known.characters, known.requests) == (100, 4)
    clock.seconds += 86400 * 31
    assert keys.spend(found, 100)
    assert [(one.name, one.characters) for one in keys.all()] == [("other", 0), ("weblate", 100)] or [
        (one.name, one.characters) for one in keys.all()
    ] == [("weblate", 100), ("other", 0)]

    assert (keys.revoke("weblate"), keys.revoke("weblate"), keys.revoke("nobody")) == (1, 0, 0)
    assert keys.find(key) is None
    assert sorted((one.name, one.revoked is None) for one in keys.all()) == [("other", True), ("weblate", False)]


def test_a_quota_is_kept_by_many_at_once(keys: Keys):
    found = keys.find(keys.add("many", quota=50))
    assert found is not None
    with ThreadPoolExecutor(4) as pool:
        spent = list(pool.map(lambda _: keys.spend(found, 7), range(20)))
    assert sum(spent) == 7


def test_names_are_unique_among_keys_in_use():
    keys = Keys(open_store(MEMORY))
    keys.add("weblate")
    with pytest.raises(InputError, match="weblate"):
        keys.add("weblate")
    keys.revoke("weblate")
    keys.add("weblate")


@pytest.mark.parametrize("limits", [{"rate": 0}, {"rate": 10**30}, {"quota": -1}, {"quota": 10**30}])
def test_limits_that_cannot_be_kept_are_refused(limits: dict[str, int]):
    with pytest.raises(InputError, match=r"rate.*quota.*at most"):
        Keys(open_store(MEMORY)).add("none", **limits)


@pytest.mark.parametrize("name", ["", " ", "a\tb", "a\nb"])
def test_a_name_that_would_break_the_list_is_refused(name: str):
    with pytest.raises(InputError, match="visible characters"):
        Keys(open_store(MEMORY)).add(name)


def test_no_key_is_in_the_file(tmp_path: Path):
    keys = Keys(open_store(str(tmp_path / "keys.sqlite")))
    key = keys.add("weblate")
    keys.store.close()
    secret = key.split("-", 2)[2].encode()
    assert all(secret not in file.read_bytes() for file in tmp_path.iterdir())
