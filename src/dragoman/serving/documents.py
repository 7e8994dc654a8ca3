"""Dragoman's own routes for documents: one is uploaded, its progress is told while it is translated, and the result fetched."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import PurePath

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from starlette.exceptions import HTTPException

from dragoman.errors import shorten
from dragoman.serving.app import note, service_of, settings_of
from dragoman.serving.events import event, streamed
from dragoman.serving.fields import read_fields
from dragoman.serving.files import (
    ATTEMPTS,
    READERS,
    Downloads,
    Reader,
    Upload,
    attachment,
    readable_name,
    suffix_of,
    translated_portions,
)
from dragoman.serving.forms import REFUSED, DocumentForm, ProblemForm
from dragoman.serving.gate import PARAMETERS
from dragoman.serving.interface import Answer, Call, ServiceError
from dragoman.serving.openapi import EVENTS, MULTIPART, body, refusals
from dragoman.serving.translating import admit, refunded, resolved

KNOWN = {"target", "source", "model", *PARAMETERS}
"""Fields of a document beside the file; a key may be in the address."""


def translated_name(name: str, target: str) -> str:
    """Return the name of a translated document, which can lie beside the original.

    >>> translated_name("../report.v2.docx", "vi")
    'report.v2.vi.docx'
    """
    own = PurePath(readable_name(name))
    return f"{own.stem}.{target}{own.suffix}"


class Documents:
    """The routes, with the translated documents in memory."""

    def __init__(self, readers: Mapping[str, Reader] = READERS, downloads: Downloads | None = None) -> None:
        self.readers, self.downloads = readers, downloads or Downloads()

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter()
        router.add_api_route("/v1/documents", self.translate, methods=["POST"], response_class=StreamingResponse,
            responses={**REFUSED, 200: {"content": {EVENTS: {}}}},
            openapi_extra=body(DocumentForm, MULTIPART))  # fmt: skip
        router.add_api_route("/v1/documents/{ticket}", self.fetch, methods=["GET"], response_class=Response,
            responses={**refusals(ProblemForm, (404,)), 200: {"content": {"application/octet-stream": {}}}})  # fmt: skip
        return router

    async def translate(self, request: Request) -> Response:
        """Translate a document, and tell with server-sent events how far it is: `progress`, and `done` or `error`.

        `progress` has the number of sentences that are `done`, of `total`; `done` the `name` of the document and the `url` from
        which it can be fetched for half an hour.
        """
        service = service_of(request)
        fields = await read_fields(request, settings_of(request).max_body_mb)
        file, target, source = fields.files.get("file"), fields.text("target"), fields.text("source") or "auto"
        if file is None or not target:
            raise ServiceError(
                "send a form with the document as `file`, and the language to translate into as `target`"
            )
        if not file.content:
            raise ServiceError(f"{shorten(file.name)} is empty; give a document with text")
        if unknown := set(fields.values) - KNOWN:
            raise ServiceError(
                f"`{shorten(min(unknown))}` is no field of a document; send file, target, source and model"
            )
        reader = self.readers.get(suffix_of(file.name))
        if reader is None:
            known = ", ".join(suffix[1:] for suffix in self.readers)
            named = f"documents named `{suffix_of(file.name)}`" if suffix_of(file.name) else "names without an ending"
            raise ServiceError(f"{named} are not translated; send one of: {known}")
        document = await asyncio.to_thread(reader, file.content, file.name, target)
        characters = sum(map(len, document.texts))
        given = Call((), None if source == "auto" else source, target, model=fields.text("model") or None)
        call = await resolved(service, given, document.texts[:100])
        self.downloads.require_room(len(file.content))
        await admit(request, document.texts, characters)
        note(request, target=target)
        return streamed(request, self._events(request, document, call, name=file.name, characters=characters))

    async def fetch(self, ticket: str) -> Response:
        """Fetch a translated document."""
        found = self.downloads.fetch(ticket)
        if found is None:
            raise HTTPException(404, "no such document waits to be fetched; translate it again")
        return Response(found.content, media_type="application/octet-stream", headers=attachment(found.name))

    async def _events(
        self, request: Request, document: Upload, call: Call, *, name: str, characters: int
    ) -> AsyncGenerator[str, None]:
        """Translate portion by portion, and yield the events."""
        settings = settings_of(request)
        answers: list[Answer] = []
        total = len(document.texts)
        yield event("progress", {"done": 0, "total": total})
        portions = translated_portions(service_of(request), document, call, settings=settings, attempts=ATTEMPTS)
        async with refunded(request, characters), aclosing(portions) as some:
            async for portion in some:
                answers += portion
                yield event("progress", {"done": len(answers), "total": total})
            content = await asyncio.to_thread(document.written, answers)
            ticket = self.downloads.keep(translated_name(name, call.target), content)
        path = request.app.url_path_for("fetch", ticket=ticket)
        yield event("done", {"name": self.downloads.waiting[ticket].name, "url": str(path)})
