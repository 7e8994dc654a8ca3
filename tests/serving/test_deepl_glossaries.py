"""DeepL's routes for glossaries: refusals in its words."""

import asyncio
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serving.test_deepl import SETTINGS, Phrases

from dragoman.serving.app import create_app
from dragoman.serving.deepl import DeepL
from dragoman.serving.glossaries import Glossaries
from dragoman.serving.store import MEMORY, Store, open_store

GIVEN = {"name": "a", "source_lang": "en", "target_lang": "vi", "entries": "cat\tmèo", "entries_format": "tsv"}


def of_a_thread(store: Store) -> Store:
    """Return a store that refuses to make an event loop wait."""
    run = store.run

    def outside(statement: str, *values: object) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return run(statement, *values)

    store.run = outside  # type: ignore[method-assign]
    return store


def test_glossaries_are_made_used_and_refused():
    router = DeepL(Glossaries(of_a_thread(open_store(MEMORY)))).router()
    client = TestClient(create_app(Phrases(), SETTINGS, routers=[router]))
    made = client.post("/v2/glossaries", json=GIVEN)
    assert made.status_code == 201 and made.json()["source_lang"] == "en" and made.json()["creation_time"].endswith("Z")
    one = f"/v2/glossaries/{made.json()['glossary_id']}"
    assert client.get(f"{one}/entries", headers={"accept": "text/tab-separated-values"}).text == "cat\tmèo"
    assert client.get(f"{one}/entries", headers={"accept": "application/pdf"}).status_code == 415
    for change, message in (
        ({"name": ""}, "Missing or invalid argument: name"),
        ({"source_lang": "xx"}, "Value for 'source_lang' not supported."),
        ({"target_lang": "pt", "source_lang": "vi"}, "Unsupported glossary source and target language pair"),
        ({"entries": "cat"}, "Invalid glossary entries provided"),
        ({"entries_format": "xml"}, "Value for 'entries_format' not supported."),
    ):
        found = client.post("/v2/glossaries", data={**GIVEN, **change})
        assert (found.status_code, found.json()["message"]) == (400, message)
    asked = {"text": ["cat"], "source_lang": "EN", "target_lang": "DE", "glossary_id": made.json()["glossary_id"]}
    assert "does not match" in client.post("/v2/translate", json=asked).json()["message"]
    asked["target_lang"] = "VI"
    assert client.post("/v2/translate", json=asked).json()["translations"][0]["text"] == "mèo"
    assert client.get(one).json() == made.json() and client.get("/v2/glossaries").json() == {
        "glossaries": [made.json()]
    }
    assert client.delete(one).status_code == 204 and client.get(one).status_code == 404
