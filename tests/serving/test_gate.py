"""Who may pass: keys from wherever clients put them, rates and quotas, and what is taken back."""

import asyncio
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.requests import Request
from tests.serving.phrases import Phrases

from dragoman.serving.app import create_app
from dragoman.serving.gate import KeyGate, MissingKeyError, QuotaError, WrongKeyError, given_key
from dragoman.serving.interface import Gate, OverloadedError
from dragoman.serving.keys import Keys
from dragoman.serving.server import routers_of
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store


def request(key: str = "", *, query: str = "", **headers: str) -> Request:
    named = {"authorization": f"Bearer {key}"} if key else headers
    return Request(
        {
            "type": "http",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()],
            "query_string": query.encode(),
        }
    )


@pytest.mark.parametrize(
    "given",
    [
        request("K"),
        request(authorization="DeepL-Auth-Key K"),
        request(authorization="deepl-auth-key  K "),
        request(x_api_key="K"),
        request(query="api_key=K"),
        request(query="auth_key=K&api_key="),
        request(authorization="Basic dXNlcg==", x_api_key="K"),
    ],
)
def test_a_key_is_found_wherever_it_is(given: Request):
    assert given_key(given) == "K"


def test_a_key_in_the_body_comes_first():
    given = request("other")
    given.state.key = "K"
    assert given_key(given) == "K"
    assert given_key(request()) == ""


def test_only_known_keys_pass_within_rate_and_quota():
    keys = Keys(open_store(MEMORY))
    gate = KeyGate(keys)
    assert isinstance(gate, Gate)
    mine = request(keys.add("mine", rate=4, quota=10))

    async def all_of_it() -> None:
        await gate.admit(mine, 6)
        with pytest.raises(QuotaError, match="10 characters"):
            await gate.admit(mine, 5)
        await gate.refund(mine, 6)
        await gate.admit(mine, 10)
        await gate.admit(mine, 0)
        with pytest.raises(OverloadedError, match="4 requests") as caught:
            await gate.admit(mine, 0)
        assert caught.value.retry_after == pytest.approx(15, abs=1)
        with pytest.raises(MissingKeyError):
            await gate.admit(request(), 1)
        with pytest.raises(WrongKeyError):
            await gate.admit(request("dragoman-000000000000-x"), 1)
        known = await gate.known(mine)
        assert known is not None and known.characters == 10
        assert await gate.known(request()) is None

    asyncio.run(all_of_it())


def test_who_sends_a_body_is_recognised_without_being_counted():
    keys = Keys(open_store(MEMORY))
    gate = KeyGate(keys)
    mine = request(keys.add("mine", rate=1, quota=1))

    async def all_of_it() -> None:
        for _ in range(3):
            await gate.recognise(mine)
        await gate.recognise(request(), in_body=True)
        with pytest.raises(MissingKeyError):
            await gate.recognise(request())
        for in_body in (False, True):
            with pytest.raises(WrongKeyError):
                await gate.recognise(request("dragoman-000000000000-x"), in_body=in_body)
        await gate.admit(mine, 1)

    asyncio.run(all_of_it())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", {"q": "hello", "source": "en", "target": "vi"}),
        ("/v2/translate", {"text": ["hello"], "target_lang": "VI"}),
        ("/v1/translate", {"text": "hello", "target": "vi"}),
    ],
)
def test_callers_are_not_told_what_a_database_says(path: str, body: Any, capsys: pytest.CaptureFixture[str]):
    store = open_store(MEMORY)
    keys = Keys(store)
    headers = {"authorization": f"Bearer {keys.add('a')}"}
    client = TestClient(create_app(Phrases(), ServiceSettings(), routers=routers_of(store), gate=KeyGate(keys)))
    store.run("DROP TABLE keys")
    found = client.post(path, json=body, headers=headers)
    assert (found.status_code, found.headers["retry-after"]) == (503, "5")
    assert "database" in found.text and "no such table" not in found.text
    assert "no such table: keys" in capsys.readouterr().err
