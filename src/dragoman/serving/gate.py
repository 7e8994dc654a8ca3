"""The gate of a service that asks for API keys."""

import asyncio
from typing import Any

from dragoman.serving.interface import ForbiddenError, OverloadedError, ServiceError
from dragoman.serving.keys import Key, Keys

SCHEMES = ("deepl-auth-key", "bearer")
"""Words before the key in the header Authorization."""

PARAMETERS = ("api_key", "auth_key")
"""Where old clients of LibreTranslate and of DeepL put the key into the address."""


class MissingKeyError(ForbiddenError):
    """A request without a key, where one is needed."""

    code = "missing_key"

    def __init__(self) -> None:
        header = "in the header Authorization, as `Bearer KEY` or `DeepL-Auth-Key KEY`"
        super().__init__(f"this service needs an API key; send it {header}, or as `api_key` to LibreTranslate's routes")


class WrongKeyError(ForbiddenError):
    """A key that does not exist, or was revoked."""

    code = "wrong_key"

    def __init__(self) -> None:
        super().__init__("this API key is unknown or was revoked; ask the operator of the service for another")


class QuotaError(ServiceError):
    """More characters than a key may translate in a month."""

    status = 429
    code = "quota_exceeded"


class KeyGate:
    """Lets requests pass whose key is known, within its rate and quota. A request is counted before it is translated."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys

    async def recognise(self, request: Any, *, in_body: bool = False) -> None:
        """Let a request pass whose key is known, or may still be in its body. MissingKeyError or WrongKeyError for others."""
        if not given_key(request):
            if not in_body:
                raise MissingKeyError
        elif await self.known(request) is None:
            raise WrongKeyError

    async def admit(self, request: Any, characters: int) -> None:
        """Let a request pass and count it. MissingKeyError, WrongKeyError, OverloadedError or QuotaError says why not."""
        given = given_key(request)
        if not given:
            raise MissingKeyError
        await asyncio.to_thread(self._admit, given, characters)

    async def refund(self, request: Any, characters: int) -> None:
        """Take back the characters that were counted for a request, which failed through no fault of its caller."""
        if key := await self.known(request):
            await asyncio.to_thread(self.keys.give_back, key, characters)

    async def known(self, request: Any) -> Key | None:
        """Return the key of a request, with what was used of it."""
        return await asyncio.to_thread(self.keys.find, given_key(request))

    def _admit(self, given: str, characters: int) -> None:
        """Count a request."""
        key = self.keys.find(given)
        if key is None:
            raise WrongKeyError
        if (wait := self.keys.wait(key)) > 0:
            raise OverloadedError(f"this API key may send {key.rate} requests in a minute", retry_after=wait)
        if not self.keys.spend(key, characters):
            raise QuotaError(
                f"this API key may translate {key.quota} characters in a month, of which {key.characters} are used"
            )


def given_key(request: Any) -> str:
    """Return the key of a request: what its route found in the body, or the one in a header or the address; or nothing."""
    found = getattr(request.state, "key", None)
    if isinstance(found, str) and found:
        return found
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in SCHEMES and key.strip():
        return key.strip()
    given = (request.query_params.get(name, "") for name in PARAMETERS)
    return request.headers.get("x-api-key", "") or next(filter(None, given), "")
