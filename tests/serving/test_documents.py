"""Dragoman's own routes for documents: progress is told, and the result waits to be fetched."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient
from tests.serving.phrases import Phrases

from dragoman.serving import files
from dragoman.serving.app import create_app
from dragoman.serving.documents import Documents
from dragoman.serving.files import KEEP_SECONDS, READERS, Downloads
from dragoman.serving.gate import KeyGate
from dragoman.serving.interface import ForbiddenError, ModelError, OpenGate, OverloadedError
from dragoman.serving.keys import Keys
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store

SETTINGS = ServiceSettings(max_characters=400)
LINES = b"red house\n" * 120


@pytest.fixture
def service() -> Phrases:
    return Phrases()


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def client(service: Phrases, clock: list[float]) -> Iterator[TestClient]:
    documents = Documents(downloads=Downloads(lambda: clock[0]))
    with TestClient(create_app(service, SETTINGS, routers=[documents.router()])) as one:
        yield one


def sent(client: TestClient, name: str, content: bytes, **fields: str) -> Any:
    return client.post("/v1/documents", files={"file": (name, content)}, data={"target": "vi", **fields})


def events(answer: Any) -> list[tuple[str, Any]]:
    parts = (part.split("\n") for part in answer.text.split("\n\n") if part)
    return [(first.removeprefix("event: "), json.loads(second.removeprefix("data: "))) for first, second in parts]


def test_a_document_tells_its_progress_and_is_fetched(client: TestClient, clock: list[float]) -> None:
    *progress, (last, made) = events(sent(client, "../báo cáo.txt", LINES, source="en"))
    assert last == "done" and made["name"] == "báo cáo.vi.txt"
    assert [found["done"] for _, found in progress] == [0, 44, 88, 120]  # as many characters as a request may have
    assert all(found["total"] == 120 for _, found in progress)
    answer = client.get(made["url"])
    assert answer.content.decode() == "nhà đỏ\n" * 120
    assert answer.headers["content-disposition"] == (
        "attachment; filename=\"bao_cao.vi.txt\"; filename*=UTF-8''b%C3%A1o%20c%C3%A1o.vi.txt"
    )
    clock[0] += KEEP_SECONDS + 1
    assert client.get(made["url"]).status_code == 404


def test_tags_stay_and_the_language_is_detected(client: TestClient, service: Phrases) -> None:
    made = events(sent(client, "a.html", b"<p>red <i>house</i></p>", model="en-vi"))[-1][1]
    assert client.get(made["url"]).content.decode() == "<p><i>nhà</i> đỏ</p>"
    assert [(call.source, call.model) for call in service.calls] == [("en", "en-vi")]


@pytest.mark.parametrize(
    ("name", "content", "fields", "words"),
    [
        ("a.exe", b"x", {}, "documents named `.exe` are not translated; send one of: txt"),
        ("a.txt", b"", {}, "a.txt is empty"),
        ("a.txt", b"hello", {"target": "xx"}, "`en` is not translated into `xx` by this service"),
        ("a.txt", b"hello", {"source": "xx"}, "`xx` is not translated into `vi` by this service"),
        ("a.txt", b"hello", {"source": "vi"}, "into their own language, `vi`"),
        ("a.txt", b"x", {"target": ""}, "as `target`"),
        ("a.txt", b"x", {"glossary": "mine"}, "`glossary` is no field of a document; send file, target"),
        ("a.html", "é".encode("latin-1"), {}, "UTF-8"),
    ],
)
def test_what_is_no_document_is_refused_in_a_sentence(
    client: TestClient, name: str, content: bytes, fields: dict[str, str], words: str
) -> None:
    answer = sent(client, name, content, **fields)
    assert answer.status_code == 400 and words in answer.json()["error"]["message"]


def test_a_busy_service_is_asked_again_and_other_errors_are_told(client: TestClient, service: Phrases) -> None:
    service.failures = [OverloadedError("full", retry_after=0.01)]
    assert events(sent(client, "a.txt", LINES))[-1][0] == "done"
    service.failures = [ModelError("the model is broken")]
    (kind, found) = events(sent(client, "a.txt", LINES))[-1]
    assert (kind, found["error"]["message"]) == ("error", "the model is broken")


def test_nothing_is_translated_where_there_is_no_room_or_no_such_model(
    client: TestClient, service: Phrases, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sent(client, "a.txt", LINES, model="no").status_code == 404
    monkeypatch.setattr(files, "KEEP_BYTES", 100)
    refused = sent(client, "a.txt", LINES)
    assert refused.status_code == 429 and "wait to be fetched" in refused.json()["error"]["message"]
    assert service.calls == []


def test_the_gate_counts_the_characters_of_the_document(service: Phrases) -> None:
    class Closed(OpenGate):
        async def admit(self, request: Any, characters: int) -> None:
            raise ForbiddenError(f"no key for {characters} characters")

    with TestClient(create_app(service, SETTINGS, routers=[Documents().router()], gate=Closed())) as client:
        answer = sent(client, "a.txt", LINES)
    assert (answer.status_code, service.calls) == (403, []) and "1080 characters" in answer.text


def test_without_a_key_no_document_is_read(service: Phrases) -> None:
    opened = []

    def reader(content: bytes, name: str, target: str = "") -> Any:
        assert target == "vi"
        opened.append(name)
        return READERS[".txt"](content, name)

    keys = Keys(open_store(MEMORY))
    documents = Documents({".txt": reader})
    with TestClient(create_app(service, SETTINGS, routers=[documents.router()], gate=KeyGate(keys))) as client:
        missing = sent(client, "a.txt", LINES)
        client.headers["Authorization"] = "Bearer wrong"
        wrong = sent(client, "a.txt", LINES)
        assert opened == []
        client.headers["Authorization"] = f"Bearer {keys.add('mine')}"
        assert events(sent(client, "a.txt", LINES))[-1][0] == "done"
    assert [(one.status_code, one.json()["error"]["code"]) for one in (missing, wrong)] == [
        (403, "missing_key"),
        (403, "wrong_key"),
    ]
    assert [one.headers["connection"] for one in (missing, wrong)] == ["close", "close"]
    assert opened == ["a.txt"]
