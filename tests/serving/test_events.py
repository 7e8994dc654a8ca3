"""Events of an answer that takes long: an error is the last of them."""

import asyncio
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.errors import InputError
from dragoman.serving.events import event, streamed
from dragoman.serving.interface import ModelError, OverloadedError
from dragoman.serving.log import Log

STATE = SimpleNamespace(log=Log())


async def some(error: Exception) -> AsyncGenerator[str, None]:
    yield event("progress", {"text": "mèo"})
    raise error


def sent(error: Exception) -> list[str]:
    async def collect() -> list[str]:
        return [str(one) async for one in streamed(request, some(error)).body_iterator]

    request: Any = SimpleNamespace(scope={}, state=SimpleNamespace(request_id="7"), app=SimpleNamespace(state=STATE))
    return asyncio.run(collect())


def test_an_error_ends_the_events_with_its_code_and_sentence() -> None:
    first, last = sent(OverloadedError("too much"))
    assert first == 'event: progress\ndata: {"text": "mèo"}\n\n'
    assert last == 'event: error\ndata: {"error": {"code": "overloaded", "message": "too much"}}\n\n'
    assert '"invalid_request"' in sent(InputError("no"))[-1]


def test_the_fault_behind_an_error_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ModelError("the log says why") from OSError("the disk is gone")
    except ModelError as error:
        sent(error)
    assert "the disk is gone" in capsys.readouterr().err


def test_a_bug_ends_the_events_without_details_and_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    last = sent(RuntimeError("the text is: secret"))[-1]
    assert last.startswith('event: error\ndata: {"error": {"code": "internal_error"') and "the log" in last
    shown = capsys.readouterr().err
    assert '"kind": "RuntimeError"' in shown and "secret" not in last + shown


def test_proxies_are_told_to_pass_events_on_at_once() -> None:
    request: Any = SimpleNamespace(scope={}, state=SimpleNamespace(request_id="7"), app=SimpleNamespace(state=STATE))
    headers = streamed(request, some(InputError("no"))).headers
    assert (headers["x-accel-buffering"], headers["cache-control"]) == ("no", "no-store")
