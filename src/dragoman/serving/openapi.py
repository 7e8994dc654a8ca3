"""How routes that read their bodies by hand describe them."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

JSON = "application/json"
EVENTS = "text/event-stream"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def body(model: type[BaseModel], *kinds: str) -> dict[str, Any]:
    """Return the description of a request's body for `openapi_extra`.

    >>> class Greeting(BaseModel):
    ...     text: str
    >>> list(body(Greeting, JSON, FORM)["requestBody"]["content"])
    ['application/json', 'application/x-www-form-urlencoded']
    """
    schema = _inlined(model.model_json_schema())
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}


def refusals(model: type[BaseModel], statuses: Sequence[int]) -> dict[int | str, dict[str, Any]]:
    """Return the description of refusals for `responses`."""
    return {status: {"model": model} for status in statuses}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without references, which have no place of their own in `openapi_extra`."""
    definitions = schema.pop("$defs", {})

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return inline(definitions[node["$ref"].rpartition("/")[2]])
        return {name: inline(value) for name, value in node.items()}

    return inline(schema)
