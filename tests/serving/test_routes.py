"""Dragoman's own routes, over HTTP as far as an application goes."""

from typing import Any

import pytest
from tests.serving.workers import Reversing, service_of

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from dragoman.serving.app import create_app
from dragoman.serving.interface import ForbiddenError, OpenGate
from dragoman.serving.routes import router
from dragoman.serving.settings import ServiceSettings


def client(worker: Reversing | None = None, gate: Any = None, **settings: Any) -> TestClient:
    service = service_of(worker or Reversing(), **settings)
    return TestClient(create_app(service, ServiceSettings(**settings), routers=[router], gate=gate))


def test_texts_are_translated_in_their_order() -> None:
    with client() as open_client:
        body = {"text": ["Ab.\nCd.", "Ef."], "source": "en", "target": "vi", "n_best": 2}
        found = open_client.post("/v1/translate", json=body).json()["translations"]
    assert [one["text"] for one in found] == [".bA\n.dC", ".fE"]
    assert found[0]["model"] == "tiny" and found[0]["alternatives"][0]["text"] == "2\n2"
    assert "sentences" not in found[0] and "detected" not in found[0]


def test_details_of_sentences_come_on_request() -> None:
    with client() as open_client:
        body = {"text": "Ab. Cd.", "source": "en", "target": "vi", "log_probs": True}
        (found,) = open_client.post("/v1/translate", json=body).json()["translations"]
    assert [(one["source"], one["start"]) for one in found["sentences"]] == [("Ab.", 0), ("Cd.", 4)]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"text": "a", "source": "en", "target": "xx"}, 400, "`xx`"),
        ({"text": "a", "source": "en", "target": "vi", "model": "no"}, 404, "`no`"),
        ({"text": "a", "source": "en", "target": "vi", "decoding": {"rerank": "x"}}, 400, "rerank"),
        ({"text": "secret", "source": "en", "targets": "vi"}, 422, "target"),
        ({"text": "a", "source": "en", "target": "vi", "glossary": {"b": ""}}, 422, "`glossary`: term 1 or its"),
        ({"text": "bad", "source": "en", "target": "vi"}, 400, "bad"),
        ({"text": ["a"] * 3, "source": "en", "target": "vi"}, 413, "texts"),
    ],
)
def test_what_cannot_be_translated_is_refused_in_a_sentence(body: dict[str, Any], status: int, words: str) -> None:
    with client(max_texts=2) as open_client:
        answer = open_client.post("/v1/translate", json=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"] and "secret" not in answer.text


def test_a_translation_is_streamed_as_it_is_written() -> None:
    with client(Reversing(steps=3, seconds=0.02)) as open_client:
        body = {"text": "Abc.", "source": "en", "target": "vi", "stream": True}
        answer = open_client.post("/v1/translate", json=body)
        wrong = open_client.post("/v1/translate", json=body | {"target": "xx"})
    events = [event.split("\n")[0] for event in answer.text.split("\n\n") if event]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert events[0] == "event: progress" and events[-2:] == ["event: answer", "event: done"]
    assert '".cbA"' in answer.text
    assert wrong.text.startswith("event: error") and "unknown_language" in wrong.text


def test_the_gate_decides_before_anything_is_translated() -> None:
    worker = Reversing()

    class Closed(OpenGate):
        async def admit(self, request: Any, characters: int) -> None:
            raise ForbiddenError(f"no key for {characters} characters")

    with client(worker, Closed()) as open_client:
        answer = open_client.post("/v1/translate", json={"text": "abc", "source": "en", "target": "vi"})
        assert (answer.status_code, worker.batches) == (403, []) and "3 characters" in answer.text
        assert open_client.get("/v1/languages").status_code == 403
        assert open_client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "content",
    [b'{"text": "\xff"}', b"[" * 100_000, b"", b"null", b"text=a", b'{"text": "\\ud800", "target": "vi"}'],
)
def test_a_body_that_cannot_be_read_is_refused_in_a_sentence(content: bytes) -> None:
    with client() as open_client:
        answer = open_client.post("/v1/translate", content=content, headers={"Content-Type": "application/json"})
    message = answer.json()["error"]["message"]
    assert answer.status_code == 422 and answer.json()["error"]["code"] == "invalid_request"
    assert "JSON object in UTF-8" in message or "surrogate" in message


@pytest.mark.parametrize("stream", [False, True])
def test_what_a_busy_service_refuses_is_given_back(stream: bool) -> None:
    class Counting(OpenGate):
        counted = 0

        async def admit(self, request: Any, characters: int) -> None:
            self.counted += characters

        async def refund(self, request: Any, characters: int) -> None:
            self.counted -= characters

    gate = Counting()
    with client(gate=gate) as open_client:
        body = {"text": "abc", "source": "en", "target": "vi", "stream": stream}
        open_client.post("/v1/translate", json=body)
        open_client.post("/v1/detect", json={"text": "12"})
        assert gate.counted == 3
        open_client.app.state.service.drain()  # type: ignore[attr-defined]
        refused = open_client.post("/v1/translate", json=body)
        assert "shutting_down" in refused.text and gate.counted == 3
        health = open_client.get("/health")
        assert (health.status_code, health.json()) == (503, {"status": "draining"})


def test_languages_detection_and_figures() -> None:
    pytest.importorskip("py3langid")
    with client() as open_client:
        found = open_client.get("/v1/languages").json()
        assert found["languages"] == [{"code": "en", "targets": ["vi"]}, {"code": "fr", "targets": ["vi"]}]
        assert found["models"][0]["directions"] == [["en", "vi"], ["fr", "vi"]]
        assert found["limits"] == {"beam": 10, "characters": 100_000}
        detected = open_client.post("/v1/detect", json={"text": "J'aime bien mon chat."}).json()["detections"]
        assert detected[0]["language"] == "fr"
        foreign = {"text": "Ich möchte gerne wissen, wo der nächste Bahnhof ist."}
        others = open_client.post("/v1/detect", json=foreign).json()["detections"]
        assert {one["language"] for one in others} == {"en", "fr", "vi"} and all(
            one["confidence"] < 0.1 for one in others
        )
        open_client.post("/v1/translate", json={"text": "Ab.", "source": "en", "target": "vi"})
        figures = open_client.get("/metrics").text
    assert 'dragoman_requests_total{method="POST",route="/v1/translate",status="200"} 1' in figures
    assert 'dragoman_model_sentences_total{model="tiny"} 1' in figures


def test_the_interface_describes_its_bodies() -> None:
    described = client().get("/openapi.json").json()
    assert "TranslationsForm" in described["components"]["schemas"]
    assert {"/v1/translate", "/v1/languages", "/health", "/metrics"} <= {*described["paths"]}
    assert "400" in described["paths"]["/v1/detect"]["post"]["responses"]
