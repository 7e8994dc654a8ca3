"""Events of an answer that takes long: an error is the last of them."""

import asyncio
from collections.abc import AsyncGenerator

from dragoman.errors import InputError
from dragoman.serving.events import event, streamed
from dragoman.serving.interface import OverloadedError


async def some(error: Exception) -> AsyncGenerator[str, None]:
    yield event("progress", {"text": "mèo"})
    raise error


def sent(error: Exception) -> list[str]:
    async def collect() -> list[str]:
        return [str(one) async for one in streamed(some(error)).body_iterator]

    return asyncio.run(collect())


def test_an_error_ends_the_events_with_its_code_and_sentence() -> None:
    first, last = sent(OverloadedError("too much"))
    assert first == 'event: progress\ndata: {"text": "mèo"}\n\n'
    assert last == 'event: error\ndata: {"error": {"code": "overloaded", "message": "too much"}}\n\n'
    assert '"invalid_request"' in sent(InputError("no"))[-1]
