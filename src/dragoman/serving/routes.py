"""Dragoman's own routes: `/v1/translate`, `/v1/detect`, `/v1/languages`, `/health` and `/metrics`."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.concurrency import run_in_threadpool

from dragoman.serving.app import gate_of, note, service_of, settings_of
from dragoman.serving.events import event, streamed
from dragoman.serving.forms import (
    REFUSED,
    DetectForm,
    DetectionsForm,
    HealthForm,
    LanguagesForm,
    TranslateForm,
    TranslationsForm,
    translation_table,
)
from dragoman.serving.interface import Progress
from dragoman.serving.openapi import EVENTS
from dragoman.serving.translating import admit, check_size, only_served, refunded

router = APIRouter()


@router.post("/v1/translate", response_model=TranslationsForm, responses={**REFUSED, 200: {"content": {EVENTS: {}}}})
async def translate(form: TranslateForm, request: Request) -> Response:
    """Translate texts. Long ones are cut into sentences; what stands between these stays as it is."""
    call = form.call
    characters = check_size(call.texts, settings_of(request))
    await admit(request, call.texts, characters)
    if form.stream:
        return streamed(request, _events(request, form, characters))
    async with refunded(request, characters):
        answers = await service_of(request).translate(call)
    note(request, models=sorted({one.model for one in answers}), target=call.target)
    shown: dict[str, Any] = {"details": form.details, "alternatives": form.n_best > 1}
    return JSONResponse({"translations": [translation_table(one, **shown) for one in answers]})


@router.post("/v1/detect", response_model=DetectionsForm, responses=REFUSED)
async def detect(form: DetectForm, request: Request) -> Response:
    """Say which of the languages served a text may be in. Without py3langid, source languages cannot be told apart (400)."""
    check_size([form.text], settings_of(request))
    await admit(request, [form.text], 0)
    service = service_of(request)
    found = only_served(service, await run_in_threadpool(service.detect, form.text))
    return JSONResponse({"detections": [asdict(one) for one in found]})


@router.get("/v1/languages", response_model=LanguagesForm)
async def languages(request: Request) -> Response:
    """Say what is translated here, by which models, and how much at a time."""
    service, settings = service_of(request), settings_of(request)
    await gate_of(request).admit(request, 0)
    pairs = [{"code": code, "targets": sorted(targets)} for code, targets in sorted(service.languages().items())]
    limits = {"beam": settings.max_n_best, "characters": settings.max_characters}
    models = [asdict(model) for model in service.models()]
    return JSONResponse({"languages": pairs, "models": models, "limits": limits})


@router.get("/health", response_model=HealthForm, responses={503: {"model": HealthForm}})
async def health(request: Request) -> Response:
    """Say that the service answers, or that it takes no more calls because it ends (503)."""
    if service_of(request).draining:
        return JSONResponse({"status": "draining"}, 503)
    return JSONResponse({"status": "ok"})


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Return what the service has done, for Prometheus."""
    text = request.app.state.metrics.text(service_of(request).figures())
    return Response(text, media_type="text/plain; version=0.0.4")


async def _events(request: Request, form: TranslateForm, characters: int) -> AsyncGenerator[str, None]:
    """Yield the events of a stream."""
    shown: dict[str, Any] = {"details": form.details, "alternatives": form.n_best > 1}
    stream = service_of(request).stream(form.call)
    async with refunded(request, characters), aclosing(stream) as progress:  # type: ignore[type-var]
        async for one in progress:
            yield _event(one, shown)
    yield event("done", {})


def _event(progress: Progress, shown: dict[str, Any]) -> str:
    """Return one event."""
    if progress.answer is None:
        return event("progress", {"number": progress.number, "text": progress.text})
    return event("answer", {"number": progress.number, **translation_table(progress.answer, **shown)})
