"""What all of DeepL's routes share: errors in its shape, a trace number in every answer, codes of languages, fields."""

import uuid
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from dragoman.errors import DragomanError
from dragoman.serving import deepl_shapes as shapes
from dragoman.serving.app import gate_of, note_refusal, retry_headers, settings_of
from dragoman.serving.fields import Fields, NotJsonError, read_fields
from dragoman.serving.gate import KeyGate, QuotaError
from dragoman.serving.interface import Service, ServiceError, UnknownLanguageError
from dragoman.serving.languages import find_variant, plain_code
from dragoman.serving.openapi import refusals

QUOTA_EXCEEDED = 456
TRACE = "X-Trace-ID"
REFUSED = refusals(shapes.Problem, (400, 403, 404, 413, 429, QUOTA_EXCEEDED, 500, 503, 504))
TRUE, FALSE = ("1", "true"), ("0", "false", "")
UNKNOWN_HERE = ("style_id", "translation_memory_id", "custom_instructions")
"""What no run can do; refused rather than ignored."""

FORMALITY = ("default", "more", "less", "prefer_more", "prefer_less")

VARIANTS = {
    "en": ("EN-GB", "EN-US"),
    "pt": ("PT-BR", "PT-PT"),
    "pb": ("PT-BR",),
    "zh": ("ZH", "ZH-HANS"),
    "zt": ("ZH-HANT",),
    "no": ("NB",),
}
"""Codes of target languages, where DeepL has others than the services of this program."""


class DeepLRoute(APIRoute):
    """A route whose refusals are in the shape of DeepL, and whose answers have a trace number."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with refusals as answers."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                response = await handle(request)
            except DragomanError as error:
                response = refused(note_refusal(request, error))
            response.headers[TRACE] = str(getattr(request.state, "request_id", "") or uuid.uuid4().hex)
            return response

        return answer


def refused(known: ServiceError) -> JSONResponse:
    """Return the answer to a request that is refused."""
    status, body = known.status, {"message": str(known)}
    match known:
        case QuotaError():
            status, body = QUOTA_EXCEEDED, {"message": "Quota for this billing period has been exceeded."}
        case UnknownLanguageError():
            status, body = 400, {"message": "Value for 'target_lang' not supported.", "detail": str(known)}
        case NotJsonError():
            body = {"message": "Bad request. Reason: the body cannot be read as what it says it is."}
    if detail := getattr(known, "detail", ""):
        body["detail"] = detail
    return JSONResponse(body, status, retry_headers(known))


def not_supported(name: str) -> ServiceError:
    """Return the refusal of a field's value."""
    return ServiceError(f"Value for '{name}' not supported.")


async def fields_of(request: Request) -> Fields:
    """Read the fields of a request, and put its key where the gate looks for it."""
    fields = await read_fields(request, settings_of(request).max_body_mb)
    request.state.key = fields.text("auth_key")
    return fields


async def owner_of(request: Request) -> str:
    """Let a request pass that translates nothing, and return the identifier of its key; nothing where there are no keys."""
    await gate_of(request).admit(request, 0)
    return await identifier_of(request)


async def identifier_of(request: Request) -> str:
    """Return the identifier of the key of a request that has been let in; nothing where there are no keys."""
    gate = gate_of(request)
    key = await gate.known(request) if isinstance(gate, KeyGate) else None
    return key.identifier if key else ""


def choice(fields: Fields, name: str, values: Sequence[str], *, default: str = "") -> str:
    """Return a field that must be one of some words."""
    given = fields.values.get(name)
    if given is None or given == "":
        return default
    text = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
    if text.lower() not in values:
        raise not_supported(name)
    return text.lower()


def switch(fields: Fields, name: str, default: bool) -> bool:
    """Return a field that is on or off."""
    given = fields.values.get(name)
    if given is None or isinstance(given, bool):
        return default if given is None else given
    text = str(given).lower()
    if text not in (*TRUE, *FALSE):
        raise not_supported(name)
    return text in TRUE


def words(fields: Fields, name: str) -> list[str]:
    """Return a field that is a list, or words with commas between them."""
    if fields.values.get(name) is None:
        return []
    texts = fields.texts(name) if fields.values[name] != [] else []
    if texts is None:
        raise not_supported(name)
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def check_unused(fields: Fields) -> None:
    """Refuse what no run can do."""
    for name in UNKNOWN_HERE:
        if fields.values.get(name) not in (None, "", []):
            raise not_supported(name)
    if choice(fields, "formality", FORMALITY, default="default") in ("more", "less"):
        raise ServiceError("'formality' is not supported for given 'target_lang'.")


def languages(fields: Fields, service: Service) -> tuple[str | None, str]:
    """Return the languages of a request; None for a source that is to be detected."""
    known = service.languages()
    wanted = fields.text("target_lang")
    target = find_variant(wanted, targets_of(service)) if wanted else None
    if target is None:
        raise not_supported("target_lang")
    asked = fields.text("source_lang")
    source = find_variant(asked, known) if asked else None
    if asked and source is None:
        raise not_supported("source_lang")
    if source not in (None, target) and target not in known[source]:
        raise not_supported("target_lang")
    return source, target


def targets_of(service: Service) -> set[str]:
    """Return all languages into which something is translated."""
    return {target for targets in service.languages().values() for target in targets}


def source_code(language: str) -> str:
    """Return the code that DeepL has for a source language.

    >>> [source_code(one) for one in ("vi", "pt-BR", "pb", "zt", "vie_Latn")]
    ['VI', 'PT', 'PT', 'ZH', 'VI']
    """
    base = plain_code(language).replace("_", "-").partition("-")[0].lower()
    return VARIANTS.get(base, (base.upper(),))[0].partition("-")[0]


def target_codes(languages: Iterable[str]) -> dict[str, str]:
    """Return the codes that DeepL has for target languages, with the languages.

    >>> target_codes(["en", "pt-BR", "vie_Latn"])
    {'EN-GB': 'en', 'EN-US': 'en', 'PT-BR': 'pt-BR', 'VI': 'vie_Latn'}
    """
    found: dict[str, str] = {}
    for language in sorted(languages):
        plain = plain_code(language)
        for code in VARIANTS.get(plain.lower(), (plain.replace("_", "-").upper(),)):
            found.setdefault(code, language)
    return dict(sorted(found.items()))
