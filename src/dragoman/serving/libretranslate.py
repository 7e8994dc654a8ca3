"""The routes of LibreTranslate: the same shapes, codes and words, so that its clients work unchanged.

Errors are `{"error": "..."}`. Bodies are JSON or forms, and fields may stand in the address.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from dragoman.errors import DragomanError
from dragoman.serving import libretranslate_shapes as shapes
from dragoman.serving.app import gate_of, note_refusal, retry_headers, service_of, settings_of
from dragoman.serving.detection import fitting
from dragoman.serving.fields import Fields, read_fields
from dragoman.serving.files import (
    ATTEMPTS,
    READERS,
    Downloads,
    Reader,
    attachment,
    suffix_of,
    translated_portions,
    write_translated,
)
from dragoman.serving.formatting import formatted_like, has_words
from dragoman.serving.gate import KeyGate, MissingKeyError, QuotaError, WrongKeyError
from dragoman.serving.interface import (
    Call,
    Detection,
    Options,
    OverloadedError,
    Service,
    ServiceError,
    TooLargeError,
    UnknownLanguageError,
)
from dragoman.serving.languages import find_language, language_name
from dragoman.serving.markup import TagRules
from dragoman.serving.openapi import FORM, JSON, MULTIPART, body, refusals
from dragoman.serving.translating import (
    UNKNOWN,
    Translated,
    admit,
    admitted,
    check_size,
    detect,
    only_served,
    sources_of,
    translate,
    translate_marked,
    without_tags,
)

AUTO = "auto"
ASK_OPERATOR = "Please contact the server operator to get an API key"
NO_SUGGESTIONS = "Suggestions are disabled on this server."
FORMATS = ("text", "html")
_REFUSED = refusals(shapes.Problem, (400, 403, 413, 429, 500, 503, 504))


class LibreTranslateRoute(APIRoute):
    """A route whose refusals are in the shape of LibreTranslate."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with refusals as answers."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except DragomanError as error:
                return refused(note_refusal(request, error))

        return answer


def refused(known: ServiceError) -> JSONResponse:
    """Return the answer to a request that is refused."""
    status, message = known.status, str(known)
    match known:
        case MissingKeyError():
            status, message = 400, ASK_OPERATOR
        case WrongKeyError():
            message = "Invalid API key"
        case OverloadedError() | QuotaError():
            message = f"Slowdown: {message}"
        case TooLargeError():
            status, message = 400, f"Invalid request: request ({known.size}) exceeds text limit ({known.limit})"
        case UnknownLanguageError():
            status = 400
    return JSONResponse({"error": message}, status, retry_headers(known))


class LibreTranslate:
    """The routes, with the formats of files that they read and the files that wait to be fetched."""

    def __init__(self, readers: Mapping[str, Reader] = READERS, downloads: Downloads | None = None) -> None:
        self.readers = readers
        self.downloads = downloads or Downloads()

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(route_class=LibreTranslateRoute, tags=["LibreTranslate"])
        add = router.add_api_route
        add("/translate", self.translate, methods=["POST"], response_model=shapes.Translation, responses=_REFUSED,
            openapi_extra=body(shapes.Translate, JSON, FORM))  # fmt: skip
        add("/detect", self.detect, methods=["POST"], response_model=list[shapes.Detected], responses=_REFUSED,
            openapi_extra=body(shapes.Detect, JSON, FORM))  # fmt: skip
        add("/languages", self.languages, methods=["GET"], response_model=list[shapes.Language])
        add("/translate_file", self.translate_file, methods=["POST"], response_model=shapes.TranslatedFile,
            responses=_REFUSED, openapi_extra=body(shapes.TranslateFile, MULTIPART))  # fmt: skip
        add("/download_file/{name}", self.download_file, methods=["GET"], response_class=Response,
            responses={**refusals(shapes.Problem, (400, 404)), 200: {"content": {"application/octet-stream": {}}}})  # fmt: skip
        add("/suggest", self.suggest, methods=["POST"], status_code=403, response_model=shapes.Problem,
            openapi_extra=body(shapes.Suggest, JSON, FORM))  # fmt: skip
        add("/frontend/settings", self.settings, methods=["GET"], response_model=shapes.FrontendSettings)
        for path in ("/translate", "/detect", "/translate_file", "/suggest"):
            add(path, _not_allowed, methods=["GET", "PUT", "PATCH", "DELETE"], include_in_schema=False)
        for path in ("/languages", "/frontend/settings"):
            add(path, _not_allowed, methods=["POST", "PUT", "PATCH", "DELETE"], include_in_schema=False)
        return router

    async def translate(self, request: Request) -> Response:
        """Translate a text, or several."""
        service, settings = service_of(request), settings_of(request)
        fields = await _fields(request)
        texts, several = _texts(fields)
        source, target = _languages(fields, service)
        count = _alternatives(fields, settings.max_n_best - 1)
        form = fields.text("format") or "text"
        if form not in FORMATS:
            raise ServiceError(f"{form} format is not supported")
        rules = TagRules(is_html=True) if form == "html" else None
        async with admitted(request, texts, check_size(texts, settings)):
            detection = None if source else await _detection(service, await without_tags(texts, rules), target)
            call = Call(tuple(texts), source or (detection.language if detection else None), target)
            if rules is not None:
                found = await translate_marked(service, call, rules, most=settings.max_texts)
            else:
                call = Call(call.texts, call.source, target, Options(n_best=1 + count))
                found = [_formatted(text, one) for text, one in zip(texts, await translate(service, call), strict=True)]
        answer: dict[str, Any] = {"translatedText": _one_or_all([one.text for one in found], several)}
        if source is None:
            answer["detectedLanguage"] = _one_or_all([_shown(detection)] * len(texts), several)
        if count:
            others = [_others(text, one) if form == "text" else [] for text, one in zip(texts, found, strict=True)]
            answer["alternatives"] = _one_or_all(others, several)
        return JSONResponse(answer)

    async def detect(self, request: Request) -> Response:
        """Tell which languages a text may be in, likeliest first."""
        fields = await _fields(request)
        texts, _ = _texts(fields)
        check_size(texts, settings_of(request))
        await admit(request, texts, 0)
        service = service_of(request)
        found = only_served(service, await detect(service, texts))
        return JSONResponse([_shown(one) for one in found] or [_shown(None)])

    async def languages(self, request: Request) -> Response:
        """List the languages."""
        known = service_of(request).languages()
        return JSONResponse(
            [
                {"code": code, "name": language_name(code), "targets": sorted({*known.get(code, ()), code})}
                for code in sorted(_every(known))
            ]
        )

    async def translate_file(self, request: Request) -> Response:
        """Translate a file, and tell where to fetch it."""
        service, settings = service_of(request), settings_of(request)
        fields = await _fields(request)
        await gate_of(request).recognise(request)
        file = fields.files.get("file")
        if file is None:
            raise ServiceError("Invalid request: missing file parameter")
        source, target = _languages(fields, service)
        if not file.name or not file.content:
            raise ServiceError("Invalid request: empty file")
        reader = self.readers.get(suffix_of(file.name))
        if reader is None:
            raise ServiceError("Invalid request: file format not supported")
        document = await asyncio.to_thread(reader, file.content, file.name, target)
        self.downloads.require_room(len(file.content))
        texts = document.texts
        async with admitted(request, texts, sum(map(len, texts))):
            if source is None:
                detection = await _detection(service, texts[:100], target)
                source = detection.language if detection else UNKNOWN
            call = Call((), source, target)
            portions = translated_portions(service, document, call, settings=settings, attempts=ATTEMPTS)
            content = await write_translated(document, portions)
            ticket = self.downloads.keep(file.name, content)
        return JSONResponse({"translatedFileUrl": str(request.url_for("download_file", name=ticket))})

    async def download_file(self, request: Request, name: str) -> Response:
        """Fetch a translated file."""
        found = self.downloads.fetch(name)
        if found is None:
            return JSONResponse({"error": "Invalid filename"}, 404)
        return Response(found.content, media_type="application/octet-stream", headers=attachment(found.name))

    async def suggest(self, request: Request) -> Response:
        """Refuse a better translation: a run learns from corpora, not from strangers."""
        return JSONResponse({"error": NO_SUGGESTIONS}, 403)

    async def settings(self, request: Request) -> Response:
        """Tell what a page needs to know."""
        settings, known = settings_of(request), service_of(request).languages()
        target = min((code for targets in known.values() for code in targets), default=UNKNOWN)
        keys = isinstance(gate_of(request), KeyGate)
        return JSONResponse(
            {
                "charLimit": settings.max_characters,
                "frontendTimeout": 500,
                "apiKeys": keys,
                "keyRequired": keys,
                "suggestions": False,
                "filesTranslation": True,
                "supportedFilesFormat": sorted(self.readers),
                "language": {
                    "source": {"code": AUTO, "name": "Auto Detect"},
                    "target": {"code": target, "name": language_name(target)},
                },
            }
        )


async def _not_allowed(request: Request) -> Response:
    """Refuse a method."""
    return JSONResponse({"error": "Method Not Allowed"}, 405)


async def _fields(request: Request) -> Fields:
    """Read the fields of a request, and put its key where the gate looks for it."""
    fields = await read_fields(request, settings_of(request).max_body_mb)
    request.state.key = fields.text("api_key")
    return fields


def _texts(fields: Fields) -> tuple[list[str], bool]:
    """Return the texts of a request, and whether they came as a list."""
    value = fields.values.get("q")
    if value in (None, "", []):
        raise ServiceError("Invalid request: missing q parameter")
    texts = fields.texts("q")
    if texts is None:
        raise ServiceError("Invalid request: q must be a string or a list of strings")
    return texts, isinstance(value, list)


def _languages(fields: Fields, service: Service) -> tuple[str | None, str]:
    """Return the languages of a request; None for a source that is to be detected."""
    for name in ("source", "target"):
        if not fields.text(name):
            raise ServiceError(f"Invalid request: missing {name} parameter")
    known = service.languages()
    asked, wanted = fields.text("source"), fields.text("target")
    target = find_language(wanted, _every(known))
    source = find_language(asked, known) or (target if find_language(asked, _every(known)) == target else None)
    if source is None and asked.lower() != AUTO:
        raise ServiceError(f"{asked} is not supported")
    if target is None:
        raise ServiceError(f"{wanted} is not supported")
    if source not in (None, target) and target not in known[source]:
        raise _unavailable(source, target)
    return source, target


def _every(known: Mapping[str, frozenset[str]]) -> set[str]:
    """Return all languages, of sources and of translations."""
    return {*known}.union(*known.values())


def _unavailable(source: str, target: str) -> ServiceError:
    """Return the refusal of a pair of languages."""
    return ServiceError(
        f"{language_name(target)} ({target}) is not available as a target language "
        f"from {language_name(source)} ({source})"
    )


def _alternatives(fields: Fields, most: int) -> int:
    """Return how many other translations are asked for."""
    value = fields.values.get("alternatives", 0)
    try:
        count = max(0, int(value if isinstance(value, int | float) else fields.text("alternatives") or 0))
    except (ValueError, OverflowError):
        raise ServiceError("Invalid request: alternatives parameter is not a number") from None
    if count > most:
        raise ServiceError(f"Invalid request: alternatives parameter must be <= {most}")
    return count


async def _detection(service: Service, texts: Sequence[str], target: str) -> Detection | None:
    """Return the language that texts are in; None if there are no letters. ServiceError if it is not translated."""
    sources, likely = sources_of(service, target), await detect(service, texts)
    found = fitting(likely, {target, *sources})
    if found:
        return found[0]
    if likely:
        raise _unavailable(likely[0].language, target)
    return Detection(min(sources), 0.0) if any(has_words(text) for text in texts) else None


def _formatted(text: str, found: Translated) -> Translated:
    """Return a translation that begins and ends like its source."""
    if found.answer is None:
        return found
    return Translated(formatted_like(text, found.text), found.source, found.answer)


def _others(text: str, found: Translated) -> list[str]:
    """Return the other translations of a text, none of them like the first."""
    others = [formatted_like(text, one.text) for one in (found.answer.alternatives if found.answer else ())]
    return [one for one in dict.fromkeys(others) if one != found.text]


def _shown(detection: Detection | None) -> dict[str, Any]:
    """Return a detection in the shape of LibreTranslate."""
    if detection is None:
        return {"confidence": 0.0, "language": UNKNOWN}
    return {"confidence": round(100 * detection.confidence, 1), "language": detection.language}


def _one_or_all(values: Sequence[Any], several: bool) -> Any:
    """Return all values, or the only one if there was no list."""
    return list(values) if several else values[0]
