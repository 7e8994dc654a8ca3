"""The web application of a service: routers of every shape around one `Service`, limits, errors as JSON, request numbers.

Only this module and the routers import FastAPI (extra `serve`).
"""

from collections.abc import Sequence

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse

from dragoman.errors import InputError
from dragoman.serving.interface import Gate, OpenGate, Service, ServiceError
from dragoman.serving.settings import ServiceSettings


def create_app(
    service: Service,
    settings: ServiceSettings,
    *,
    routers: Sequence[APIRouter] = (),
    gate: Gate | None = None,
) -> FastAPI:
    """Return the application. Routers find what they need with `service_of`, `settings_of` and `gate_of` of a request.

    A ServiceError or InputError that a route raises is answered in Dragoman's own shape; routers of other shapes
    catch it themselves.
    """
    app = FastAPI(title="Dragoman", summary="Translation with your own models")
    app.state.service = service
    app.state.settings = settings
    app.state.gate = gate or OpenGate()
    app.add_exception_handler(ServiceError, _refused)
    app.add_exception_handler(InputError, _refused)
    for router in routers:
        app.include_router(router)
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


async def _refused(request: Request, error: Exception) -> JSONResponse:
    """Answer a refused call in Dragoman's own shape."""
    known = error if isinstance(error, ServiceError) else ServiceError(str(error))
    headers = {} if known.retry_after is None else {"Retry-After": str(max(1, round(known.retry_after)))}
    return JSONResponse({"error": {"code": known.code, "message": str(known)}}, known.status, headers)
