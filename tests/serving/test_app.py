"""The application: limits and errors are the same on every route, and pages need nothing from elsewhere."""

from typing import Any

import pytest
from tests.serving.workers import Reversing, service_of

pytest.importorskip("fastapi")

from fastapi import APIRouter, Request
from fastapi.testclient import TestClient

from dragoman.errors import InputError, RunError
from dragoman.serving.app import create_app, gate_of, note_texts
from dragoman.serving.app import service_of as service_of_request
from dragoman.serving.interface import ForbiddenError, OverloadedError
from dragoman.serving.settings import ServiceSettings


def client(*routers: APIRouter, gate: Any = None, **settings: Any) -> TestClient:
    chosen = ServiceSettings(**settings)
    return TestClient(create_app(service_of(Reversing()), chosen, routers=routers, gate=gate))


def raising(error: Exception) -> APIRouter:
    router = APIRouter()

    @router.get("/raise")
    async def fail() -> None:
        raise error

    return router


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (OverloadedError("come again", retry_after=7), 429, "overloaded"),
        (ForbiddenError("not you"), 403, "forbidden"),
        (InputError("bad text"), 400, "invalid_request"),
    ],
)
def test_errors_are_answered_in_one_shape(error: Exception, status: int, code: str) -> None:
    answer = client(raising(error)).get("/raise")
    assert (answer.status_code, answer.json()) == (status, {"error": {"code": code, "message": str(error)}})
    assert answer.headers.get("retry-after") == ("7" if status == 429 else None)


def test_what_is_wrong_with_a_run_is_for_the_log_alone(capsys: pytest.CaptureFixture[str]) -> None:
    answer = client(raising(RunError("/srv/run/calibration.json belongs to other weights"))).get("/raise")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "model_error")
    assert "/srv" not in answer.text and "the log" in answer.text
    assert "RunError: /srv/run/calibration.json belongs to other weights" in capsys.readouterr().err


def test_what_does_not_exist_is_answered_in_the_same_shape() -> None:
    assert client().get("/nothing").json()["error"]["code"] == "not_found"


def test_other_origins_may_call_only_if_they_are_named() -> None:
    origin = {"Origin": "https://example.org"}
    assert "access-control-allow-origin" not in client().get("/docs", headers=origin).headers
    allowed = client(origins=("https://example.org",)).get("/docs", headers=origin).headers
    assert allowed["access-control-allow-origin"] == "https://example.org"
    page = client(origins=("https://example.org",), max_body_mb=0.000001)
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key,content-type"}
    assert page.options("/v1/translate", headers=origin | asks).status_code == 200
    refused = page.post("/v1/translate", json={"text": "hello" * 9, "target": "vi"}, headers=origin)
    assert refused.status_code == 413 and refused.headers["access-control-allow-origin"] == "https://example.org"


def test_routers_find_service_and_gate_and_leave_facts_for_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    asked = []

    class Counting:
        async def admit(self, request: Any, characters: int) -> None:
            asked.append(characters)

    router = APIRouter()

    @router.get("/own")
    async def own(request: Request) -> list[str]:
        await gate_of(request).admit(request, 5)
        note_texts(request, ["a secret"])
        return sorted(service_of_request(request).languages())

    with client(router, gate=Counting()) as open_client:
        assert open_client.get("/own").json() == ["en", "fr"]
    assert asked == [5]
    shown = capsys.readouterr().err
    assert '"characters": 8' in shown and '"route": "/own"' in shown and "secret" not in shown
    client(router, log_text=True).get("/own")
    assert "a secret" in capsys.readouterr().err


def test_the_page_of_the_interface_asks_for_nothing_from_elsewhere() -> None:
    answer = client(raising(InputError("x"))).get("/docs")
    assert "/raise" in answer.text and "default-src 'none'" in answer.headers["content-security-policy"]
    assert "http://" not in answer.text and "https://" not in answer.text and "<script" not in answer.text
