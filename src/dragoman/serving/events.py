"""Server-sent events: how an answer that takes long tells what it has come to."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from dragoman.errors import DragomanError
from dragoman.serving.app import note_refusal, service_of
from dragoman.serving.doorway import FAULT, Fault, error_body
from dragoman.serving.interface import ShuttingDownError
from dragoman.serving.log import Log
from dragoman.serving.openapi import EVENTS


def event(name: str, data: dict[str, Any]) -> str:
    r"""Return an event as it is sent.

    >>> event("done", {})
    'event: done\ndata: {}\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def streamed(request: Request, events: AsyncGenerator[str, None]) -> StreamingResponse:
    """Return an answer of events; an error among them is the last one, named `error`."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # nginx would hold events back
    return StreamingResponse(_until_refused(request, events), media_type=EVENTS, headers=headers)


async def _until_refused(request: Request, events: AsyncGenerator[str, None]) -> AsyncIterator[str]:
    """Yield events; of an error, also of a bug and the end of the service, the event that tells it."""
    try:
        async with aclosing(events) as some:
            async for one in some:
                yield one
    except asyncio.CancelledError:
        if not service_of(request).draining:
            raise  # the caller has left
        yield event("error", error_body(note_refusal(request, ShuttingDownError())))
    except DragomanError as error:
        yield event("error", error_body(note_refusal(request, error)))
    except Exception as error:
        log: Log = request.app.state.log
        log.fault(error, id=request.state.request_id)
        yield event("error", error_body(Fault(FAULT)))
