"""The web application of a service: routers of every shape around one `Service`, behind the doorway.

Only this module, the routers and `server.py` import what the extra `serve` installs.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException

from dragoman.errors import DragomanError, RunError
from dragoman.serving.api_page import api_page
from dragoman.serving.doorway import NOTES, REFUSAL, Doorway, error_body
from dragoman.serving.interface import Gate, ModelError, OpenGate, Service, ServiceError, UnavailableError
from dragoman.serving.log import Log
from dragoman.serving.metrics import Metrics
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import StoreError

LAST_SECONDS = 5.0
"""How long the end waits for requests that were cut short."""
CONTENT_SECURITY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
"""What the page of the interface may do: nothing but show itself."""
NO_OBJECT = "the body is no JSON object in UTF-8; send one, with the header `Content-Type: application/json`"


def create_app(
    service: Service,
    settings: ServiceSettings,
    *,
    routers: Sequence[APIRouter] = (),
    gate: Gate | None = None,
) -> FastAPI:
    """Return the application. Routers find what they need with `service_of`, `settings_of` and `gate_of` of a request.

    A ServiceError or another DragomanError that a route raises is answered in Dragoman's own shape; routers of other shapes
    catch it themselves.
    """
    app = FastAPI(
        title="Dragoman",
        summary="Translation with your own models",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        lifespan=_closing,
        dependencies=[Depends(_refuse_strangers)],
    )
    app.state.service, app.state.settings, app.state.gate = service, settings, gate or OpenGate()
    app.state.metrics, app.state.log = Metrics(), Log(settings.log_format)
    app.add_exception_handler(DragomanError, _refused)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(HTTPException, _not_found)
    for router in routers:
        app.include_router(router)
    app.add_api_route("/docs", _docs, include_in_schema=False)
    own = app.state
    app.add_middleware(Doorway, settings=settings, metrics=own.metrics, log=own.log, gate=own.gate)
    if settings.origins:  # around the doorway, whose refusals a page must be able to read too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key", "X-Request-Id"],
            expose_headers=["Retry-After", "X-Request-Id", "X-Trace-ID"],
        )
    return app


def service_of(request: Request) -> Service:
    """Return the service that a request is for."""
    service: Service = request.app.state.service
    return service


def settings_of(request: Request) -> ServiceSettings:
    """Return the settings of the service."""
    settings: ServiceSettings = request.app.state.settings
    return settings


def gate_of(request: Request) -> Gate:
    """Return what decides who may translate."""
    gate: Gate = request.app.state.gate
    return gate


def note(request: Request, **facts: Any) -> None:
    """Leave facts about a request for its line in the log; never text of the caller unless `log_text` is set."""
    request.scope.setdefault(NOTES, {}).update(facts)


def note_texts(request: Request, texts: Sequence[str]) -> None:
    """Leave the number and size of the texts of a request for its line in the log, and for `/metrics`."""
    characters = sum(map(len, texts))
    note(request, texts=len(texts), characters=characters)
    if settings_of(request).log_text:
        note(request, source=list(texts))
    metrics: Metrics = request.app.state.metrics
    metrics.add("texts", len(texts))
    metrics.add("characters", characters)


def as_service_error(error: DragomanError) -> ServiceError:
    """Return an error as one that has a status. What is wrong with a database or a run, and where it is, is for the log alone."""
    if isinstance(error, StoreError):
        return UnavailableError("the database of this service cannot be used now; try again later")
    if isinstance(error, RunError):
        broken = ModelError(
            "a file of this run cannot be used, or its weights are damaged; the log of the service says which"
        )
        broken.__cause__ = error
        return broken
    return error if isinstance(error, ServiceError) else ServiceError(str(error))


def note_refusal(request: Request, error: DragomanError) -> ServiceError:
    """Leave a refusal for the log, with the fault behind it if there is one, and return it as an error with a status."""
    known = as_service_error(error)
    note(request, refused=known.code)
    fault = error if known.__cause__ is None else known
    if fault.__cause__ is not None:
        log: Log = request.app.state.log
        log.fault(fault, id=request.state.request_id)
    return known


def retry_headers(error: ServiceError) -> dict[str, str]:
    """Return the headers of an answer to a refused request."""
    return {} if error.retry_after is None else {"Retry-After": str(max(1, round(error.retry_after)))}


async def _refuse_strangers(request: Request) -> None:
    """Raise what the doorway found against a request, of which it has not read the body: each route says so in its own shape."""
    refusal: DragomanError | None = getattr(request.state, REFUSAL, None)
    if refusal is not None:
        raise refusal


@asynccontextmanager
async def _closing(app: FastAPI) -> AsyncIterator[None]:
    """Close the service at the end, if it can be closed, once what has been cut short has taken back what was counted for it."""
    try:
        yield
    except asyncio.CancelledError:  # a second signal: nothing is waited for
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_SECONDS):
            while app.state.metrics.in_progress:
                await asyncio.sleep(0.01)
    close = getattr(app.state.service, "close", None)
    if close is not None:
        await close()


async def _refused(request: Request, error: Exception) -> JSONResponse:
    """Answer a refused call in Dragoman's own shape."""
    assert isinstance(error, DragomanError)
    known = note_refusal(request, error)
    return JSONResponse(error_body(known), known.status, retry_headers(known))


async def _misunderstood(request: Request, error: Exception) -> JSONResponse:
    """Answer a body that does not have the form of the route, without repeating what it holds."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    said = first["ctx"]["error"] if first["type"] == "value_error" else first["msg"]  # not "Value error, ..."
    message = f"`{place}`: {said}" if place else str(said)
    unread = first["type"] == "json_invalid" or (not place and first["type"] in ("missing", "model_attributes_type"))
    refusal = ServiceError(NO_OBJECT if unread else message)
    note(request, refused=refusal.code)
    return JSONResponse(error_body(refusal), 422)


async def _not_found(request: Request, error: Exception) -> JSONResponse:
    """Answer a path or method that does not exist."""
    assert isinstance(error, HTTPException)
    if error.status_code == 400:  # what the framework makes of a body that it cannot parse
        refusal = ServiceError(NO_OBJECT)
        note(request, refused=refusal.code)
        return JSONResponse(error_body(refusal), 422)
    body = {"error": {"code": "not_found" if error.status_code == 404 else "http_error", "message": str(error.detail)}}
    return JSONResponse(body, error.status_code, error.headers)


async def _docs(request: Request) -> HTMLResponse:
    """Show the interface as a page that needs nothing from elsewhere."""
    return HTMLResponse(api_page(request.app.openapi()), headers={"Content-Security-Policy": CONTENT_SECURITY})
