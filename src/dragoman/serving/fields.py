"""What a client sent, however it sent it: as JSON, as a form, in the address."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from dragoman.json_files import parse_json
from dragoman.serving.interface import ServiceError, TooLargeError
from dragoman.serving.openapi import FORM

MIB = 1 << 20
MOST_FIELDS = 10_000
"""Maximum number of fields of a form."""


class NotJsonError(ServiceError):
    """A body that is not what it says it is."""

    code = "invalid_body"


@dataclass(frozen=True)
class File:
    """A file that was sent along."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Fields:
    """Fields by their names. What a form repeats is a list; a field of the body comes before one in the address."""

    values: Mapping[str, Any]
    files: Mapping[str, File] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a field as text: the last one where it was repeated, nothing where it is missing or is no text."""
        value = self.values.get(name)
        if isinstance(value, list):
            value = value[-1] if value else None
        return value if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str] | None:
        """Return the texts of a field; None where it is missing or holds anything else."""
        value = self.values.get(name)
        many: list[Any] = value if isinstance(value, list) else [value]
        return many if many and all(isinstance(one, str) for one in many) else None


async def read_fields(request: Request, most_mb: float) -> Fields:
    """Read the fields of a request. NotJsonError for a body that cannot be read, TooLargeError for one that is too large."""
    queried = _table(request.query_params.multi_items())
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        _refuse_large(int(request.headers.get("content-length") or 0), most_mb)
        return await _read_multipart(request, queried)
    body = await _body(request, most_mb)
    is_missing = request.method == "GET" and not body  # some name the kind of a body that they do not send
    if kind.endswith("json") and not is_missing:
        return Fields({**queried, **_read_json(body)})
    try:
        form = parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        if kind == FORM:
            raise NotJsonError(f"Invalid form: send UTF-8, percent-encoded, and at most {MOST_FIELDS} fields") from None
        form = []
    return Fields({**queried, **_table(form)})


def _read_json(body: bytes) -> dict[str, Any]:
    """Return a JSON object of text that can be written again."""
    try:
        found = parse_json(body)
        if not isinstance(found, dict):
            raise ValueError("no object")
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError):  # not JSON, not an object, half of a surrogate pair, nan, or too deep
        raise NotJsonError("Invalid JSON format") from None
    return found


async def _body(request: Request, most_mb: float) -> bytes:
    """Return the body, unless it is too large."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        _refuse_large(size, most_mb)
        parts.append(part)
    return b"".join(parts)


async def _read_multipart(request: Request, queried: Mapping[str, Any]) -> Fields:
    """Return the fields and files of a form with files."""
    try:
        form = await request.form(max_fields=MOST_FIELDS, max_files=10)
    except HTTPException as error:  # what Starlette makes of a form that it cannot read
        raise NotJsonError(str(error.detail)) from None
    try:
        items = form.multi_items()
        files = {name: File(one.filename or "", await one.read()) for name, one in items if isinstance(one, UploadFile)}
        return Fields({**queried, **_table([(name, one) for name, one in items if isinstance(one, str)])}, files)
    finally:
        await form.close()


def _refuse_large(size: int, most_mb: float) -> None:
    """Raise TooLargeError for more bytes than there may be."""
    most = int(most_mb * MIB)
    if size > most:
        raise TooLargeError(f"the body has more than {most} bytes", size=size, limit=most)


def _table(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return fields by name; what is repeated becomes a list.

    >>> _table([("q", "a"), ("q", "b"), ("source", "en")])
    {'q': ['a', 'b'], 'source': 'en'}
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found
