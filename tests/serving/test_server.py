"""A real server on a real port: clients that leave, many at once, and the end."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest
from tests.serving.workers import Reversing, service_of

pytest.importorskip("uvicorn")

from dragoman.errors import InputError
from dragoman.serving.app import create_app
from dragoman.serving.interface import Gate, OpenGate
from dragoman.serving.server import Server, is_private, listen, routers_of, server_of
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store


class Counting(OpenGate):
    """Counts characters."""

    characters = 0

    async def admit(self, request: Any, characters: int) -> None:
        self.characters += characters

    async def refund(self, request: Any, characters: int) -> None:
        await asyncio.sleep(0.3)  # as for a database on a busy machine
        self.characters -= characters


@contextmanager
def serving(worker: Reversing, *, gate: Gate | None = None, **settings: Any) -> Iterator[tuple[int, Server]]:
    """Serve in a thread, and give the port and the server."""
    chosen = ServiceSettings(**settings)
    service = service_of(worker, **settings)
    app = create_app(service, chosen, routers=routers_of(open_store(MEMORY)), gate=gate)
    server = server_of(app, service, chosen)
    listener = listen("127.0.0.1", 0)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    try:
        yield listener.getsockname()[1], server
    finally:
        worker.released.set()
        server.handle_exit(15, None)
        thread.join(20)
        assert not thread.is_alive()


def post(port: int, text: str, **more: Any) -> tuple[int, dict[str, Any]]:
    return send(port, "/v1/translate", {"text": text, "source": "en", "target": "vi", **more})


def send(port: int, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    table = json.loads(answer.read())
    connection.close()
    return answer.status, table


def until(true: Any) -> None:
    end = time.monotonic() + 15
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_many_clients_at_once_share_batches_and_each_gets_its_own_answer() -> None:
    worker = Reversing()
    worker.released.clear()
    found: dict[str, str] = {}

    def ask(text: str) -> None:
        found[text] = post(port, text)[1]["translations"][0]["text"]

    with serving(worker) as (port, _):
        threads = [threading.Thread(target=ask, args=(f"text {number}",)) for number in range(24)]
        for thread in threads:
            thread.start()
        until(lambda: len(worker.batches) == 1)
        time.sleep(0.3)
        worker.released.set()
        for thread in threads:
            thread.join(20)
    assert found == {f"text {number}": f"text {number}"[::-1] for number in range(24)}
    assert len(worker.batches) < 12


def test_a_client_that_leaves_stops_costing() -> None:
    worker = Reversing(steps=2000, seconds=0.005)
    with serving(worker) as (port, _):
        body = json.dumps({"text": "Ab.", "source": "en", "target": "vi"}).encode()
        with socket.create_connection(("127.0.0.1", port)) as leaving:
            head = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            leaving.sendall(head % len(body) + body)
            until(lambda: worker.taken > 2)
        until(lambda: len(worker.batches) == 1)
        worker.steps = 0
        assert post(port, "Cd.")[1]["translations"][0]["text"] == ".dC"
    assert worker.taken < 1500


def test_an_overloaded_server_answers_429_and_then_goes_on() -> None:
    worker = Reversing()
    worker.released.clear()
    with serving(worker, engine={"queue_sentences": 2}) as (port, _):
        first = threading.Thread(target=post, args=(port, "Ab. Cd."))
        first.start()
        until(lambda: len(worker.batches) == 1)
        status, refusal = post(port, "Ef.")
        assert (status, refusal["error"]["code"]) == (429, "overloaded")
        worker.released.set()
        first.join(20)
        assert post(port, "Ef.")[0] == 200


def asked(worker: Reversing, ask: Callable[[], object]) -> threading.Thread:
    """Ask in a thread, and return it once the worker has what was asked for."""
    thread = threading.Thread(target=ask)
    thread.start()
    until(lambda: len(worker.batches) == 1)
    return thread


def test_what_was_asked_before_the_end_is_answered() -> None:
    worker = Reversing()
    worker.released.clear()
    answers: list[Any] = []
    with serving(worker) as (port, server):
        asking = asked(worker, lambda: answers.append(post(port, "Last.")))
        server.handle_exit(15, None)
        time.sleep(0.1)
        worker.released.set()
        asking.join(20)
    assert answers[0][0] == 200 and answers[0][1]["translations"][0]["text"] == ".tsaL"
    with pytest.raises(OSError):
        post(port, "Late.")


def test_a_request_of_several_calls_is_answered_to_the_end() -> None:
    worker = Reversing()
    worker.released.clear()
    answers: list[Any] = []
    body = {"q": "<p>Ab.</p><p>Cd.</p>", "source": "en", "target": "vi", "format": "html"}
    with serving(worker, max_texts=1) as (port, server):
        asking = asked(worker, lambda: answers.append(send(port, "/translate", body)))
        server.handle_exit(15, None)
        worker.released.set()
        asking.join(20)
    assert answers == [(200, {"translatedText": "<p>.bA</p><p>.dC</p>"})] and len(worker.batches) == 2


def test_a_stream_that_is_not_complete_at_the_end_says_so() -> None:
    worker = Reversing()
    worker.released.clear()
    gate = Counting()
    answers: list[str] = []

    def ask() -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        body = json.dumps({"text": "Last.", "target": "vi", "source": "en", "stream": True})
        connection.request("POST", "/v1/translate", body, {"Content-Type": "application/json"})
        answers.append(connection.getresponse().read().decode())
        connection.close()

    with serving(worker, gate=gate, drain_s=0) as (port, server):
        asking = asked(worker, ask)
        server.handle_exit(15, None)
        asking.join(20)
        worker.released.set()
    assert answers[0].startswith("event: error") and "shutting_down" in answers[0]
    assert gate.characters == 0


def test_what_takes_too_long_at_the_end_is_refused_and_not_counted() -> None:
    worker = Reversing()
    worker.released.clear()
    gate = Counting()
    answers: list[Any] = []
    with serving(worker, gate=gate, drain_s=0) as (port, server):
        asking = asked(worker, lambda: answers.append(post(port, "Last.")))
        server.handle_exit(15, None)
        asking.join(20)
        worker.released.set()
    ((status, refusal),) = answers
    assert (status, refusal["error"]["code"], gate.characters) == (503, "shutting_down", 0)


def test_a_second_signal_ends_the_server_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    worker = Reversing()
    worker.released.clear()
    answers: list[Any] = []
    with serving(worker) as (port, server):
        asking = asked(worker, lambda: answers.append(post(port, "Last.")))
        server.handle_exit(15, None)
        server.handle_exit(15, None)
        asking.join(20)
    assert not asking.is_alive() and [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == []


def test_a_port_in_use_is_refused_in_a_sentence() -> None:
    first = listen("127.0.0.1", 0)
    with pytest.raises(InputError, match="--port"):
        listen("127.0.0.1", first.getsockname()[1])
    first.close()


def test_only_this_machine_reaches_loopback() -> None:
    assert [is_private(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")] == [
        True,
        True,
        True,
        False,
        False,
    ]
