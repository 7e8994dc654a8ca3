"""API keys with a rate of requests and a quota of characters. The keys themselves are not stored, only their hashes."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from dragoman.errors import InputError, shorten
from dragoman.serving.store import Store

PREFIX = "dragoman"
"""What every key begins with, so that people and scanners of secrets know one when they see it."""

NO_HASH = "0" * 64
"""The hash that a key is compared with which does not exist."""

MINUTE = 60.0
MOST = 10**15
"""The largest rate and quota."""


@dataclass(frozen=True)
class Key:
    """What is known of a key."""

    identifier: str
    """Its second part, which is no secret."""
    name: str
    rate: int | None
    """Maximum number of requests in a minute; None for no limit."""
    quota: int | None
    """Maximum number of characters in a month; None for no limit."""
    created: float
    """Seconds since 1970, like the other times."""
    revoked: float | None = None
    characters: int = 0
    """Characters of this month."""
    requests: int = 0
    """Requests of this month."""


@dataclass(frozen=True)
class Keys:
    """The keys of a store, and how much they were used."""

    store: Store
    now: Callable[[], float] = time.time

    def add(self, name: str, *, rate: int | None = None, quota: int | None = None) -> str:
        """Create a key and return it: the only time that it can be seen. InputError for a name or limits that will not do."""
        if (rate is not None and not 1 <= rate <= MOST) or (quota is not None and not 0 <= quota <= MOST):
            raise InputError(
                f"a rate is at least 1 request in a minute, and a quota 0 characters; both are at most {MOST:,}, or left out"
            )
        if not name.strip() or not name.isprintable():
            raise InputError(f"{shorten(name)!r} is no name of a key; give one of visible characters on one line")
        if any(key.name == name and key.revoked is None for key in self.all()):
            raise InputError(
                f"there is a key called `{shorten(name)}` already; revoke it first, or choose another name"
            )
        identifier = secrets.token_hex(6)
        key = f"{PREFIX}-{identifier}-{secrets.token_urlsafe(32)}"
        self.store.run(
            "INSERT INTO keys (identifier, hash, name, rate, quota, created) VALUES (?, ?, ?, ?, ?, ?)",
            *(identifier, _hash(key), name, rate, quota, self.now()),
        )
        return key

    def all(self) -> list[Key]:
        """Return all keys, revoked ones too, oldest first, with what was used this month."""
        rows = self.store.run(
            "SELECT keys.identifier, name, rate, quota, created, revoked, COALESCE(characters, 0), COALESCE(requests, 0) "
            "FROM keys LEFT JOIN usage ON usage.identifier = keys.identifier AND usage.period = ? "
            "ORDER BY created, keys.identifier",
            self.period(),
        )
        return [Key(*row) for row in rows]

    def revoke(self, name: str) -> int:
        """Revoke the keys with this name or identifier, and return how many there were."""
        rows = self.store.run(
            "UPDATE keys SET revoked = ? WHERE revoked IS NULL AND (name = ? OR identifier = ?) RETURNING identifier",
            *(self.now(), name, name),
        )
        return len(rows)

    def find(self, key: str) -> Key | None:
        """Return what is known of a key, or None if it does not exist or was revoked. Takes as long whatever the key is."""
        prefix, _, rest = key.partition("-")
        identifier = rest.partition("-")[0] if prefix == PREFIX else ""
        rows = self.store.run(
            "SELECT keys.identifier, name, rate, quota, created, revoked, COALESCE(characters, 0), COALESCE(requests, 0), "
            "hash FROM keys LEFT JOIN usage ON usage.identifier = keys.identifier AND usage.period = ? "
            "WHERE keys.identifier = ?",
            *(self.period(), identifier),
        )
        known = rows[0][-1] if rows else NO_HASH
        if not hmac.compare_digest(_hash(key), known) or rows[0][5] is not None:
            return None
        return Key(*rows[0][:-1])

    def wait(self, key: Key) -> float:
        """Count a request and return 0; or return after how many seconds there may be one, if there were too many.

        As many requests as the rate allows in a minute may come at once, and then one after another. (This is the generic cell
        rate algorithm, which needs one number for each key.)
        """
        if key.rate is None:
            return 0.0
        step, now = MINUTE / key.rate, self.now()
        most = now + MINUTE - step
        counted = self.store.run(
            "INSERT INTO rates (identifier, due) VALUES (?, ?) ON CONFLICT (identifier) DO UPDATE "
            "SET due = CASE WHEN rates.due > ? THEN rates.due ELSE ? END + ? WHERE rates.due <= ? RETURNING due",
            *(key.identifier, now + step, now, now, step, most),
        )
        if counted:
            return 0.0
        rows = self.store.run("SELECT due FROM rates WHERE identifier = ?", key.identifier)
        return max(rows[0][0] - most, 0.001) if rows else step

    def spend(self, key: Key, characters: int) -> bool:
        """Count characters of this month, and a request; or count nothing and return False if the quota does not suffice."""
        most = key.quota if key.quota is not None else (1 << 63) - 1
        if characters > most:
            return False
        counted = self.store.run(
            "INSERT INTO usage (identifier, period, characters, requests) VALUES (?, ?, ?, 1) "
            "ON CONFLICT (identifier, period) DO UPDATE "
            "SET characters = usage.characters + excluded.characters, requests = usage.requests + 1 "
            "WHERE usage.characters + excluded.characters <= ? RETURNING characters",
            *(key.identifier, self.period(), characters, most),
        )
        return bool(counted)

    def give_back(self, key: Key, characters: int) -> None:
        """Take characters back that were counted for what could not be translated."""
        self.store.run(
            "UPDATE usage SET characters = CASE WHEN characters > ? THEN characters - ? ELSE 0 END "
            "WHERE identifier = ? AND period = ?",
            *(characters, characters, key.identifier, self.period()),
        )

    def period(self) -> str:
        """Return the month, in UTC, whose quota counts.

        >>> from dragoman.serving.store import MEMORY, open_store
        >>> Keys(open_store(MEMORY), now=lambda: 86400.0 * 31).period()
        '1970-02'
        """
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m")


def _hash(key: str) -> str:
    """Return the hash of a key. A key is random and long, so a quick hash is as good as a slow one."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
