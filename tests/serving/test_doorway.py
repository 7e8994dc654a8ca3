"""Every request has a number, a limit and a line in the log; one whose client leaves ends."""

import asyncio
import json
from typing import Any

import pytest

from dragoman.serving.doorway import REFUSAL, Doorway
from dragoman.serving.interface import ForbiddenError, Gate, OpenGate
from dragoman.serving.log import Log
from dragoman.serving.metrics import Metrics
from dragoman.serving.settings import ServiceSettings


class Client:
    """A client that sends a body in pieces and leaves when it is told to."""

    def __init__(
        self, *pieces: bytes, headers: list[tuple[bytes, bytes]] | None = None, path: str = "/v1/translate"
    ) -> None:
        self.messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
            for number, piece in enumerate(pieces, 1)
        ]
        self.scope = {"type": "http", "method": "POST", "path": path, "headers": headers or []}
        self.left = asyncio.Event()
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        if self.messages:
            return self.messages.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(dict(message))

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    def header(self, name: bytes) -> bytes | None:
        return dict(self.sent[0]["headers"]).get(name)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def visit(
    client: Client,
    application: Any = echo,
    *,
    metrics: Metrics | None = None,
    gate: Gate | None = None,
    **settings: Any,
) -> Client:
    chosen = ServiceSettings(**settings)
    doorway = Doorway(application, chosen, metrics=metrics or Metrics(), log=Log(), gate=gate)
    asyncio.run(asyncio.wait_for(doorway(client.scope, client.receive, client.send), 10))
    return client


def test_a_body_arrives_whole_and_the_answer_has_the_number_of_the_request() -> None:
    client = visit(Client(b"a", b"b", headers=[(b"x-request-id", b"mine-1")]))
    assert (client.status, client.sent[1]["body"], client.header(b"x-request-id")) == (200, b"ab", b"mine-1")
    made = visit(Client(b"", headers=[(b"x-request-id", b"in\njected")])).header(b"x-request-id")
    assert made is not None and len(made) == 32


@pytest.mark.parametrize(("pieces", "headers"), [((b"x" * 80, b"x" * 80), []), ((b"",), [(b"content-length", b"500")])])
def test_a_large_body_is_refused_however_it_comes(
    pieces: tuple[bytes, ...], headers: list[tuple[bytes, bytes]]
) -> None:
    client = visit(Client(*pieces, headers=headers), max_body_mb=0.0001)
    assert client.status == 413
    assert json.loads(client.sent[1]["body"])["error"]["code"] == "too_large"


def test_only_some_large_bodies_arrive_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.doorway.SMALL", 100)

    slow = [Client(b"x" * 900, path="/translate") for _ in range(13)]
    for client in slow:
        client.messages[0]["more_body"] = True
    small, large, later = Client(b"y" * 90, b"y" * 9), Client(b"y" * 900, b"y"), Client(b"y" * 900, b"y")

    async def arrive() -> int:
        doorway = Doorway(echo, ServiceSettings(max_body_mb=0.001), metrics=Metrics(), log=Log())
        waiting = [asyncio.create_task(doorway(one.scope, one.receive, one.send)) for one in slow]
        await asyncio.sleep(0)
        await doorway(small.scope, small.receive, small.send)
        await doorway(large.scope, large.receive, large.send)
        for client in slow:
            client.left.set()
        await asyncio.gather(*waiting)
        await doorway(later.scope, later.receive, later.send)
        return doorway.arriving

    assert asyncio.run(arrive()) == 0
    assert [len(client.sent) for client in slow] == [0] * 12 + [2] and slow[12].status == 429
    assert (small.status, large.status, later.status) == (200, 429, 200)
    assert int(large.header(b"retry-after") or 0) >= 1


def test_too_many_requests_are_refused_with_a_time_to_come_again() -> None:
    metrics = Metrics()
    metrics.in_progress = 3
    client = visit(Client(b""), metrics=metrics, max_requests=3)
    assert client.status == 429 and int(client.header(b"retry-after") or 0) >= 1
    assert metrics.in_progress == 3


def test_a_body_that_never_ends_is_not_waited_for() -> None:
    client = Client()
    assert visit(client, timeout_s=0.05).status == 504


def test_a_route_ends_when_its_client_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    ended = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        client.left.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(True)

    client = Client(b"text")
    metrics = Metrics()
    visit(client, slow, metrics=metrics)
    assert ended and client.sent == [] and metrics.in_progress == 0
    assert '"status": 499' in capsys.readouterr().err


def test_what_a_route_does_after_its_answer_is_done() -> None:
    done = []

    async def tidy(scope: Any, receive: Any, send: Any) -> None:
        await echo(scope, receive, send)
        client.left.set()
        await asyncio.sleep(0.02)
        done.append(True)

    client = Client(b"text")
    visit(client, tidy)
    assert done


def test_a_bug_is_answered_without_details_and_logged(capsys: pytest.CaptureFixture[str]) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("a secret text")

    client = visit(Client(b""), broken)
    assert client.status == 500 and b"secret" not in client.sent[1]["body"]
    shown = capsys.readouterr().err
    assert "ValueError" in shown and "secret" not in shown


@pytest.mark.parametrize("path", ["/translate", "/v2/translate"])
def test_a_refusal_is_one_that_the_clients_of_other_services_can_read(path: str) -> None:
    client = visit(Client(b"x" * 3000, path=path), max_body_mb=0.002)
    told = json.loads(client.sent[1]["body"])
    assert client.status == 413 and told["error"] == told["message"] and "3,000" in told["error"]
    assert (b"x-trace-id" in dict(client.sent[0]["headers"])) == path.startswith("/v2/")


class Closed(OpenGate):
    """Recognises nobody whose key is not in the body."""

    async def recognise(self, request: Any, *, in_body: bool = False) -> None:
        if not in_body:
            raise ForbiddenError("who is there?")


FILES = [(b"content-type", b"multipart/form-data; boundary=x")]


@pytest.mark.parametrize(
    ("path", "headers", "reads"),
    [
        ("/v1/documents", FILES, False),
        ("/v1/translate", [], False),
        ("/translate_file", FILES, True),
        ("/translate", [], True),
    ],
)
def test_the_body_of_a_stranger_is_not_read(path: str, headers: list[tuple[bytes, bytes]], reads: bool) -> None:
    client = visit(Client(b"upload", headers=headers, path=path), gate=Closed())
    assert client.sent[1]["body"] == (b"upload" if reads else b"")
    assert client.header(b"connection") == (None if reads else b"close")
    refusal = client.scope["state"].get(REFUSAL)
    assert (refusal is None) if reads else (str(refusal) == "who is there?")
