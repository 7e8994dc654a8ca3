"""`dragoman keys`."""

import json
from pathlib import Path

from tests.tiny import dragoman, refusal

from dragoman.serving.keys import Keys
from dragoman.serving.store import open_store


def test_keys_are_added_listed_and_revoked(tmp_path: Path):
    place = tmp_path / "keys.sqlite"
    added = dragoman("keys", "add", place, "weblate", "--rate", 60, "--quota", 1000)
    (key,) = added.lines
    assert added.code == 0 and "cannot be shown again" in added.errors
    store = open_store(str(place))
    assert Keys(store).find(key) is not None
    (listed,) = dragoman("keys", "list", place).lines
    assert listed.split("\t")[1:4] == ["weblate", "60/minute", "0 of 1000 characters"] and listed.endswith("in use")
    assert key not in listed
    assert "1 key revoked" in dragoman("keys", "revoke", place, "weblate").errors
    assert Keys(store).find(key) is None
    (one,) = json.loads(dragoman("keys", "list", place, "--json").output)["keys"]
    assert one["revoked"] is not None and key not in json.dumps(one)
    store.close()


def test_mistakes_are_refused(tmp_path: Path):
    place = tmp_path / "keys.sqlite"
    assert "keys add" in refusal("keys", "list", place)
    dragoman("keys", "add", place, "a")
    assert "`a`" in refusal("keys", "add", place, "a")
    assert "`b`" in refusal("keys", "revoke", place, "b")
    assert "folder" in refusal("keys", "add", tmp_path / "none" / "x", "a")
