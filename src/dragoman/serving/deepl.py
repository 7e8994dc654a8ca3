"""DeepL's routes of version 2: texts, languages, usage, and beside them glossaries and documents."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from dragoman.serving import deepl_shapes as shapes
from dragoman.serving.app import gate_of, service_of, settings_of
from dragoman.serving.deepl_documents import DeepLDocuments
from dragoman.serving.deepl_glossaries import DeepLGlossaries
from dragoman.serving.deepl_routes import (
    REFUSED,
    DeepLRoute,
    check_unused,
    choice,
    fields_of,
    languages,
    source_code,
    switch,
    target_codes,
    targets_of,
    words,
)
from dragoman.serving.fields import Fields
from dragoman.serving.formatting import formatted_like
from dragoman.serving.gate import KeyGate
from dragoman.serving.glossaries import Glossaries
from dragoman.serving.interface import Call, Options, ServiceError
from dragoman.serving.languages import language_name
from dragoman.serving.markup import TagRules
from dragoman.serving.openapi import FORM, JSON, body
from dragoman.serving.translating import (
    Translated,
    admitted,
    by_language,
    check_size,
    translate,
    translate_marked,
)

NO_LIMIT = 1_000_000_000_000
"""The limit that is told where there is none: clients want a number."""

MODELS = ("quality_optimized", "latency_optimized", "prefer_quality_optimized")
SPLITS = {"0": "none", "1": "sentences", "nonewlines": "punctuation"}


class DeepL:
    """The routes, with the glossaries of a store and the documents in memory."""

    def __init__(self, glossaries: Glossaries, documents: DeepLDocuments | None = None) -> None:
        self.glossaries = DeepLGlossaries(glossaries)
        self.documents = documents or DeepLDocuments(self.glossaries)

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(prefix="/v2", route_class=DeepLRoute, tags=["DeepL"])
        add = router.add_api_route
        described = body(shapes.Translate, JSON)
        described["requestBody"]["content"] |= body(shapes.TranslateForm, FORM)["requestBody"]["content"]
        add("/translate", self.translate, methods=["POST"], response_model=shapes.Translations, responses=REFUSED,
            openapi_extra=described)  # fmt: skip
        for method in ("GET", "POST"):
            shown = method == "GET"
            add("/languages", self.languages, methods=[method], response_model=list[shapes.Language],
                responses=REFUSED, include_in_schema=shown)  # fmt: skip
            add("/usage", self.usage, methods=[method], response_model=shapes.Usage, responses=REFUSED,
                include_in_schema=shown)  # fmt: skip
        self.glossaries.add_to(router)
        self.documents.add_to(router)
        every = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        add("/{rest:path}", _not_found, methods=every, include_in_schema=False)
        return router

    async def translate(self, request: Request) -> Response:
        """Translate texts, with or without tags."""
        service, settings = service_of(request), settings_of(request)
        fields = await fields_of(request)
        texts = fields.texts("text") if fields.values.get("text") not in (None, []) else None
        if texts is None:
            await gate_of(request).admit(request, 0)
            raise ServiceError("Parameter 'text' not specified")
        async with admitted(request, texts, check_size(texts, settings)):
            source, target = languages(fields, service)
            check_unused(fields)
            rules = _rules(fields)
            keep = switch(fields, "preserve_formatting", False) and rules is None
            billed = switch(fields, "show_billed_characters", True)
            model = choice(fields, "model_type", MODELS)
            version = choice(fields, "tag_handling_version", ("v1", "v2"), default="v2")
            options = Options(split=_split(fields, rules), context=fields.text("context"))
            terms = await self.glossaries.chosen(request, fields, source=source, target=target)

            async def ask(call: Call) -> list[Translated]:
                if rules is None:
                    return await translate(service, call, terms)
                return await translate_marked(service, call, rules, terms=terms, most=settings.max_texts)

            call = Call(tuple(texts), source, target, options)
            results = await by_language(service, call, ask, rules=rules)
        answers: list[dict[str, Any]] = [
            {
                "detected_source_language": source_code(source or one.source),
                "text": formatted_like(text, one.text) if keep else one.text,
                **({"billed_characters": len(text)} if billed else {}),
                **({"model_type_used": model.removeprefix("prefer_")} if model else {}),
                **({"tag_handling_version": version} if rules else {}),
            }
            for text, one in zip(texts, results, strict=True)
        ]
        return JSONResponse({"translations": answers})

    async def languages(self, request: Request) -> Response:
        """List the languages of one side."""
        fields = await fields_of(request)
        await gate_of(request).admit(request, 0)
        side = fields.text("type") or "source"
        if side not in ("source", "target"):
            raise ServiceError("Parameter 'type' is invalid. 'source' and 'target' are valid values.")
        service = service_of(request)
        if side == "target":
            codes = target_codes(targets_of(service))
            found = [{"language": code, "name": _name(code), "supports_formality": False} for code in codes]
        else:
            sources = sorted({source_code(one) for one in service.languages()})
            found = [{"language": code, "name": _name(code)} for code in sources]
        return JSONResponse(found)

    async def usage(self, request: Request) -> Response:
        """Tell what a key has used this month, and how much it may."""
        await fields_of(request)
        gate = gate_of(request)
        await gate.admit(request, 0)
        key = await gate.known(request) if isinstance(gate, KeyGate) else None
        used, most = (key.characters, key.quota) if key else (0, None)
        return JSONResponse({"character_count": used, "character_limit": NO_LIMIT if most is None else most})


async def _not_found(request: Request, rest: str) -> Response:
    """Refuse a path that is not there."""
    return JSONResponse({"message": "Not found"}, 404)


def _name(code: str) -> str:
    """Return the English name of a language of DeepL."""
    return language_name(code)


def _rules(fields: Fields) -> TagRules | None:
    """Return what tags mean; None where they mean nothing."""
    handling = choice(fields, "tag_handling", ("xml", "html"))
    is_html = handling == "html"  # where names of elements may be in any case
    ignored, splitting, within = (
        frozenset(one.lower() if is_html else one for one in words(fields, f"{name}_tags"))
        for name in ("ignore", "splitting", "non_splitting")
    )
    outline = switch(fields, "outline_detection", True)
    if not handling:
        return None
    return TagRules(
        is_html=is_html,
        ignored=ignored,
        splitting=splitting,
        within=within,
        outline=outline,
        joins_lines=choice(fields, "split_sentences", tuple(SPLITS), default="1") == "nonewlines",
    )


def _split(fields: Fields, rules: TagRules | None) -> Any:
    """Return where texts are cut."""
    default = "nonewlines" if rules is not None and rules.is_html else "1"
    return SPLITS[choice(fields, "split_sentences", tuple(SPLITS), default=default)]
