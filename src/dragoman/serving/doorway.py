"""What every request passes, whatever its shape: a number, limits of size and count, the log, and the end if its client leaves.

The whole body is read before anything is done with it, but not that of a caller whose key is missing or wrong. A key may be in a
body, so anybody may send one; only some large ones arrive at a time. If the client goes away afterwards, the route is cancelled,
and with it the translation.
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from starlette.requests import Request

from dragoman.errors import DragomanError
from dragoman.serving.interface import (
    Gate,
    OpenGate,
    OverloadedError,
    ServiceError,
    ShuttingDownError,
    TooLargeError,
    TooSlowError,
)
from dragoman.serving.log import Log
from dragoman.serving.metrics import Metrics
from dragoman.serving.settings import ServiceSettings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

NOTES = "dragoman.notes"
"""Where in the scope of a request a route leaves what the log should say about it."""
REFUSAL = "refusal"
"""Where in the state of a request its route finds why it must be refused; the body was not read then."""
OWN = "/v1/"
"""How the paths of Dragoman's own routes begin. Their callers have no key in the body."""
DEEPL = "/v2/"
"""How those of DeepL begin, whose clients want a trace number in every answer."""
SMALL = 1 << 16
"""Size of a body that may always arrive."""
LARGE_AT_ONCE = 10
"""So many of the largest bodies may arrive at the same time, or more of smaller ones."""
REQUEST_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)


FAULT = "something went wrong here; the log of the service says where"
"""What is said of a bug."""


class Doorway:
    """Wraps an application."""

    def __init__(
        self,
        application: Application,
        settings: ServiceSettings,
        *,
        metrics: Metrics,
        log: Log,
        gate: Gate | None = None,
    ) -> None:
        self.application = application
        self.settings = settings
        self.metrics = metrics
        self.log = log
        self.gate = gate or OpenGate()
        self.arriving = 0
        """Bytes of large bodies that are being read."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Let one request through, or refuse it."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        visit = _Visit(scope, send)
        if visit.method == "HEAD":  # answered like GET; the server leaves the body out
            scope = {**scope, "method": "GET"}
        self.metrics.in_progress += 1
        try:
            self._require_room()
            known = await self._recognise(scope, visit)
            body = await self._body(scope, receive) if known else b""
            if body is not None:
                await self._let_in(scope, body, receive, visit=visit)
        except ServiceError as refusal:
            await visit.refuse(refusal)
        except asyncio.CancelledError:  # the server ends, and waits no longer
            await visit.refuse(ShuttingDownError())
        except Exception as error:
            self.log.fault(error, id=visit.number)
            await visit.refuse(Fault(FAULT))
        finally:
            self.metrics.in_progress -= 1
            self._note(scope, visit)

    def _require_room(self) -> None:
        """Raise OverloadedError if there are too many requests."""
        if self.metrics.in_progress > self.settings.max_requests:
            raise OverloadedError(f"{self.settings.max_requests:,} requests are being answered; try again later")

    async def _recognise(self, scope: MutableMapping[str, Any], visit: "_Visit") -> bool:
        """Tell whether the body of a request may be read; if not, its route says why.

        The key of those that send files is in a header or the address, or in the form with LibreTranslate and DeepL.
        """
        request = Request(scope)
        own = visit.path.startswith(OWN)
        sends_files = request.headers.get("content-type", "").lower().startswith("multipart/form-data")
        if visit.method == "POST" and (own or sends_files):
            try:
                await self.gate.recognise(request, in_body=not own)
            except DragomanError as refusal:
                scope["state"][REFUSAL] = refusal
                visit.unread = True
        return not visit.unread

    async def _body(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes | None:
        """Read the whole body; None if the client leaves meanwhile. ServiceError beyond a limit."""
        limit = int(self.settings.max_body_mb * 1e6)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > limit:
            raise _too_large(int(declared), limit)
        body = bytearray()
        counted = 0
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > limit:
                        raise _too_large(len(body), limit)
                    if not message.get("more_body"):
                        return bytes(body)
                    more = max(0, len(body) - SMALL) - counted
                    self.arriving, counted = self.arriving + more, counted + more
                    if self.arriving > LARGE_AT_ONCE * limit:
                        raise OverloadedError("too many large requests arrive at the same time; try again later")
        except TimeoutError:
            raise TooSlowError(f"the request did not arrive within {self.settings.timeout_s:g} seconds") from None
        finally:
            self.arriving -= counted

    async def _let_in(self, scope: MutableMapping[str, Any], body: bytes, receive: Receive, *, visit: "_Visit") -> None:
        """Run the application, and cancel it if the client leaves."""
        pending = [{"type": "http.request", "body": body, "more_body": False}]
        left = asyncio.Event()

        async def from_here() -> Message:
            if pending:
                return pending.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            left.set()

        work = asyncio.ensure_future(self.application(scope, from_here, visit.send))
        watching = asyncio.create_task(watch())
        try:
            await asyncio.wait({work, watching}, return_when=asyncio.FIRST_COMPLETED)
            if visit.complete:  # what a route does after its answer goes on
                await work
            elif not work.done():
                visit.status = visit.status or 499
                work.cancel()
                with suppress(asyncio.CancelledError):
                    await work
            else:
                work.result()
        finally:
            for task in (work, watching):
                task.cancel()
            await asyncio.wait({work, watching})

    def _note(self, scope: MutableMapping[str, Any], visit: "_Visit") -> None:
        """Count a request and write its line."""
        seconds = time.monotonic() - visit.begun
        route = getattr(scope.get("route"), "path", "other")
        self.metrics.count(route=route, method=visit.method, status=visit.status or 499, seconds=seconds)
        facts = {"id": visit.number, "method": visit.method, "route": route, "status": visit.status or 499}
        self.log.write("request", **facts, ms=round(seconds * 1000, 1), **scope.get(NOTES, {}))


class _Visit:
    """One request and how far its answer has come."""

    def __init__(self, scope: MutableMapping[str, Any], send: Send) -> None:
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        self.number = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        self.path, self.method = str(scope["path"]), str(scope["method"])
        self.begun = time.monotonic()
        self.status = 0
        self.complete = False
        self.unread = False
        """Whether the body is not read, so that the connection must end with the answer."""
        self._send = send
        scope.setdefault("state", {})["request_id"] = self.number

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the number of the request."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            end = [(b"connection", b"close")] if self.unread else []
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.number.encode()), *end]
        self.complete = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def refuse(self, refusal: ServiceError) -> None:
        """Answer with an error, unless an answer has begun."""
        if self.status:
            return
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        if self.path.startswith(DEEPL):
            headers.append((b"x-trace-id", self.number.encode()))
        if refusal.retry_after is not None:
            headers.append((b"retry-after", str(max(1, round(refusal.retry_after))).encode()))
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": json.dumps(self._body(refusal)).encode()})

    def _body(self, refusal: ServiceError) -> dict[str, Any]:
        """Return an error as clients of the path read it: those of LibreTranslate a text, those of DeepL a message."""
        if self.path.startswith(OWN):
            return error_body(refusal)
        return {"error": str(refusal), "message": str(refusal)}


class Fault(ServiceError):
    """A bug."""

    status = 500
    code = "internal_error"


def error_body(error: ServiceError) -> dict[str, Any]:
    """Return an error in Dragoman's own shape."""
    return {"error": {"code": error.code, "message": str(error)}}


def _too_large(size: int, limit: int) -> TooLargeError:
    """Say that a body is too large."""
    return TooLargeError(
        f"the request has {size:,} bytes or more, but {limit:,} are allowed; send less at a time",
        size=size,
        limit=limit,
    )
