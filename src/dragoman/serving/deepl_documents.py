"""DeepL's routes for documents: uploaded, translated meanwhile, asked after, and fetched once."""

import asyncio
import hmac
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from dragoman.errors import DragomanError
from dragoman.serving import deepl_shapes as shapes
from dragoman.serving.app import gate_of, note_refusal, service_of, settings_of
from dragoman.serving.deepl_glossaries import DeepLGlossaries
from dragoman.serving.deepl_routes import (
    REFUSED,
    check_unused,
    choice,
    fields_of,
    identifier_of,
    languages,
    owner_of,
)
from dragoman.serving.doorway import FAULT
from dragoman.serving.files import (
    ATTEMPTS,
    KEEP_BYTES,
    KEEP_SECONDS,
    READERS,
    Reader,
    Upload,
    attachment,
    readable_name,
    suffix_of,
    translated_portions,
    write_translated,
)
from dragoman.serving.interface import Answer, Call, OverloadedError, ServiceError
from dragoman.serving.log import Log
from dragoman.serving.openapi import FORM, JSON, MULTIPART, body
from dragoman.serving.translating import admitted, likely_source, refunded


@dataclass
class Waiting:
    """A document that is translated, or waits to be fetched."""

    key: str
    owner: str
    name: str
    characters: int
    until: float
    size: int
    begun: bool = False
    content: bytes | None = None
    problem: str | None = None
    work: "asyncio.Task[None] | None" = field(default=None, repr=False)

    @property
    def is_done(self) -> bool:
        """Tell whether it can be fetched, or why not."""
        return self.content is not None or self.problem is not None


class DeepLDocuments:
    """The routes, with the documents in memory."""

    def __init__(
        self,
        glossaries: DeepLGlossaries,
        readers: Mapping[str, Reader] = READERS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.glossaries, self.readers, self.now = glossaries, readers, now
        self.waiting: dict[str, Waiting] = {}

    def add_to(self, router: APIRouter) -> None:
        """Add the routes."""
        add = router.add_api_route
        add("/document", self.upload, methods=["POST"], response_model=shapes.Handle, responses=REFUSED,
            openapi_extra=body(shapes.Upload, MULTIPART))  # fmt: skip
        add("/document/{document_id}", self.status, methods=["POST"], response_model=shapes.Status, responses=REFUSED,
            openapi_extra=body(shapes.DocumentKey, JSON, FORM))  # fmt: skip
        add("/document/{document_id}/result", self.result, methods=["POST"], response_class=Response,
            responses={**REFUSED, 200: {"content": {"application/octet-stream": {}}}},
            openapi_extra=body(shapes.DocumentKey, JSON, FORM))  # fmt: skip

    async def upload(self, request: Request) -> Response:
        """Take a document, and begin to translate it."""
        service, settings = service_of(request), settings_of(request)
        fields = await fields_of(request)
        await gate_of(request).recognise(request)
        file = fields.files.get("file")
        if file is None or not file.content:
            await gate_of(request).admit(request, 0)
            raise ServiceError("Invalid file data.")
        name = fields.text("filename") or file.name
        reader = self.readers.get(suffix_of(name))
        if reader is None:
            raise ServiceError("Invalid file data.")
        source, target = languages(fields, service)
        document = await asyncio.to_thread(reader, file.content, name, target)
        characters = sum(map(len, document.texts))
        async with admitted(request, document.texts, characters):
            check_unused(fields)
            choice(fields, "output_format", (suffix_of(name)[1:],))
            if source == target:
                raise ServiceError("Source and target language are equal.")
            terms = await self.glossaries.chosen(request, fields, source=source, target=target)
            source = source or await likely_source(service, document.texts[:100], target)
            self._make_room(len(file.content))
        owner = await identifier_of(request)
        identifier = secrets.token_hex(16).upper()
        one = Waiting(
            secrets.token_hex(32).upper(),
            owner,
            readable_name(name),
            characters,
            self.now() + KEEP_SECONDS,
            len(file.content),
        )
        self.waiting[identifier] = one
        call = Call((), source, target)
        portions = translated_portions(service, document, call, settings=settings, terms=terms, attempts=ATTEMPTS)
        one.work = asyncio.create_task(self._translate(one, request, document, portions=portions))
        return JSONResponse({"document_id": identifier, "document_key": one.key})

    async def status(self, request: Request, document_id: str) -> Response:
        """Tell how far a document has come."""
        one = await self._find(request, document_id)
        shown: dict[str, Any] = {"document_id": document_id}
        if one.problem is not None:
            shown |= {"status": "error", "error_message": one.problem}
        elif one.content is not None:
            shown |= {"status": "done", "seconds_remaining": 0, "billed_characters": one.characters}
        else:
            shown |= {"status": "translating", "seconds_remaining": 1} if one.begun else {"status": "queued"}
        return JSONResponse(shown)

    async def result(self, request: Request, document_id: str) -> Response:
        """Hand out a translated document, and forget it."""
        one = await self._find(request, document_id)
        if one.content is None:
            return JSONResponse({"message": one.problem or "Document translation is not done"}, 503)
        del self.waiting[document_id]
        return Response(one.content, media_type="application/octet-stream", headers=attachment(one.name))

    async def _find(self, request: Request, identifier: str) -> Waiting:
        """Return a document of this caller, who knows its key."""
        fields = await fields_of(request)
        owner = await owner_of(request)
        self._forget_old()
        one = self.waiting.get(identifier)
        given = fields.text("document_key").encode("utf-8", "replace")
        if one is None or one.owner != owner or not hmac.compare_digest(one.key.encode(), given):
            error = ServiceError("Document not found")
            error.status = 404
            raise error
        return one

    def _make_room(self, size: int) -> None:
        """Refuse a document for which there is no room."""
        self._forget_old()
        if size + sum(one.size for one in self.waiting.values()) > KEEP_BYTES // 2:
            raise OverloadedError("too many documents wait to be fetched", retry_after=60.0)

    def _forget_old(self) -> None:
        """Forget documents that nobody fetched in time; those in progress have all they need."""
        now = self.now()
        for identifier in [name for name, one in self.waiting.items() if one.is_done and one.until < now]:
            del self.waiting[identifier]

    async def _translate(
        self, one: Waiting, request: Request, document: Upload, *, portions: AsyncGenerator[list[Answer], None]
    ) -> None:
        """Translate a document, which waits to be fetched from then on; what has no translation is not counted."""
        one.begun = True
        try:
            async with refunded(request, one.characters):
                one.content = await write_translated(document, portions)
            one.size += len(one.content)
        except DragomanError as error:
            one.problem = str(note_refusal(request, error))
        except Exception as error:
            log: Log = request.app.state.log
            log.fault(error, id=request.state.request_id)
            one.problem = FAULT
        finally:
            one.until = self.now() + KEEP_SECONDS
