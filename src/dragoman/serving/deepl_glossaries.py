"""DeepL's routes for glossaries."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from dragoman.serving import deepl_shapes as shapes
from dragoman.serving.app import gate_of, service_of
from dragoman.serving.deepl_routes import REFUSED, choice, fields_of, not_supported, owner_of, source_code, words
from dragoman.serving.fields import Fields
from dragoman.serving.gate import KeyGate
from dragoman.serving.glossaries import MOST_BYTES, Glossaries, Glossary, read_terms
from dragoman.serving.interface import ServiceError
from dragoman.serving.languages import find_variant
from dragoman.serving.openapi import FORM, JSON, body

TSV = "text/tab-separated-values"
MOST_AT_ONCE = 5
"""Maximum number of glossaries of one request."""


class DeepLGlossaries:
    """The routes, and the glossaries that a request to translate names.

    A thread reads and writes them: the database may be far away or busy, and others wait for the event loop.
    """

    def __init__(self, glossaries: Glossaries) -> None:
        self.glossaries = glossaries

    def add_to(self, router: APIRouter) -> None:
        """Add the routes."""
        add = router.add_api_route
        add("/glossary-language-pairs", self.pairs, methods=["GET"], response_model=shapes.Pairs, responses=REFUSED)
        add("/glossaries", self.create, methods=["POST"], response_model=shapes.Glossary, responses=REFUSED,
            status_code=201, openapi_extra=body(shapes.CreateGlossary, JSON, FORM))  # fmt: skip
        add("/glossaries", self.all, methods=["GET"], response_model=shapes.Glossaries, responses=REFUSED)
        one = "/glossaries/{glossary_id}"
        add(one, self.one, methods=["GET"], response_model=shapes.Glossary, responses=REFUSED)
        add(one, self.delete, methods=["DELETE"], response_class=Response, responses=REFUSED, status_code=204)
        add(f"{one}/entries", self.entries, methods=["GET"], response_class=Response,
            responses={**REFUSED, 415: REFUSED[400], 200: {"content": {TSV: {}}}})  # fmt: skip

    async def chosen(self, request: Request, fields: Fields, *, source: str | None, target: str) -> dict[str, str]:
        """Return the entries of the glossaries that a request names, the first of them first. ServiceError if they do not fit."""
        named = words(fields, "glossary_id") + words(fields, "glossary_ids")
        if not named:
            return {}
        if source is None:
            raise ServiceError("Use of a glossary requires the source_lang parameter to be specified")
        if len(named) > MOST_AT_ONCE:
            raise not_supported("glossary_ids")
        gate = gate_of(request)
        key = await gate.known(request) if isinstance(gate, KeyGate) else None
        owner = key.identifier if key else ""
        return await asyncio.to_thread(self._terms, owner, named, (source, target))

    async def pairs(self, request: Request) -> Response:
        """List the language pairs of which there may be glossaries: those that are translated."""
        await owner_of(request)
        known = service_of(request).languages()
        pairs = sorted({(source_code(a), source_code(b)) for a, targets in known.items() for b in targets})
        shown = [{"source_lang": a.lower(), "target_lang": b.lower()} for a, b in pairs]
        return JSONResponse({"supported_languages": shown})

    async def create(self, request: Request) -> Response:
        """Keep a new glossary."""
        fields = await fields_of(request)
        owner = await owner_of(request)
        name = fields.text("name")
        if not name.strip() or len(name.encode()) > MOST_BYTES or "\x00" in name:
            raise ServiceError("Missing or invalid argument: name")
        source, target = self._pair(request, fields)
        form = choice(fields, "entries_format", ("tsv", "csv"), default="tsv")
        terms = await asyncio.to_thread(read_terms, fields.text("entries"), form)
        made = await asyncio.to_thread(self.glossaries.create, owner, name, source=source, target=target, terms=terms)
        return JSONResponse(_shown(made), 201)

    async def all(self, request: Request) -> Response:
        """List the glossaries of a key."""
        owner = await owner_of(request)
        return JSONResponse({"glossaries": [_shown(one) for one in await asyncio.to_thread(self.glossaries.of, owner)]})

    async def one(self, request: Request, glossary_id: str) -> Response:
        """Tell about a glossary."""
        owner = await owner_of(request)
        return JSONResponse(_shown(await asyncio.to_thread(self.glossaries.find, owner, glossary_id)))

    async def entries(self, request: Request, glossary_id: str) -> Response:
        """List the entries of a glossary, one on each line."""
        owner = await owner_of(request)
        accepted = request.headers.get("accept", "*/*")
        if not any(kind in accepted for kind in (TSV, "*/*", "text/*")):
            return JSONResponse({"message": "No supported media type specified in Accept header"}, 415)
        terms = await asyncio.to_thread(self.glossaries.terms, owner, glossary_id)
        text = "\n".join(f"{source}\t{target}" for source, target in terms.items())
        return Response(text, media_type=TSV)

    async def delete(self, request: Request, glossary_id: str) -> Response:
        """Delete a glossary."""
        await asyncio.to_thread(self.glossaries.delete, await owner_of(request), glossary_id)
        return Response(status_code=204)

    def _terms(self, owner: str, named: Sequence[str], pair: tuple[str, str]) -> dict[str, str]:
        """Return the entries of some glossaries, those of the first before others. ServiceError if one is for other languages."""
        terms: dict[str, str] = {}
        for identifier in named:
            known = self.glossaries.find(owner, identifier)
            if (source_code(known.source), source_code(known.target)) != tuple(map(source_code, pair)):
                raise ServiceError("The glossary does not match the source_lang and target_lang of the request")
            terms = {**self.glossaries.terms(owner, identifier), **terms}
        return terms

    def _pair(self, request: Request, fields: Fields) -> tuple[str, str]:
        """Return the languages of a new glossary."""
        known = service_of(request).languages()
        asked = fields.text("source_lang"), fields.text("target_lang")
        source = find_variant(asked[0], known) if asked[0] else None
        if source is None:
            raise not_supported("source_lang")
        target = find_variant(asked[1], known[source]) if asked[1] else None
        if target is None:
            raise ServiceError("Unsupported glossary source and target language pair")
        return source, target


def _shown(glossary: Glossary) -> dict[str, Any]:
    """Return a glossary in the shape of DeepL."""
    made = datetime.fromtimestamp(glossary.created, UTC)
    return {
        "glossary_id": glossary.identifier,
        "name": glossary.name,
        "ready": True,
        "source_lang": source_code(glossary.source).lower(),
        "target_lang": source_code(glossary.target).lower(),
        "creation_time": made.strftime("%Y-%m-%dT%H:%M:%S.") + f"{made.microsecond // 1000:03d}Z",
        "entry_count": glossary.size,
    }
