"""The page that describes the interface of a service, made from its OpenAPI description."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
code { font-size: .95em; }
h2 code { font-size: 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8884; }
"""


def api_page(description: Mapping[str, Any]) -> str:
    """Return the page: each route with what it takes and answers."""
    title = escape(description["info"]["title"])
    parts = "\n".join(_routes(description))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}: interface</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n<body><main><h1>{title}</h1>\n'
        f'<p>{escape(description["info"].get("summary", ""))}. For programs: <a href="openapi.json">openapi.json</a>.</p>\n'
        f"{parts}\n</main></body></html>\n"
    )


def _routes(description: Mapping[str, Any]) -> Iterator[str]:
    """Yield a section for each route."""
    schemas = description.get("components", {}).get("schemas", {})
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            text = escape(route.get("description", route.get("summary", ""))).replace("\n\n", "</p><p>")
            yield f"<section><h2><code>{method.upper()} {escape(path)}</code></h2><p>{text}</p>"
            yield from _fields("It takes", _schema(route.get("requestBody", {})), schemas)
            answers = route["responses"]
            yield from _fields("It answers", _schema(answers.get("200", answers.get("201", {}))), schemas)
            yield "</section>"


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a body, that of JSON if it may be something else too; empty if there is none."""
    content: Mapping[str, Any] = body.get("content", {})
    found: Mapping[str, Any] = content.get("application/json") or next(iter(content.values()), {})
    schema: Mapping[str, Any] = found.get("schema", {})
    return schema


def _fields(heading: str, schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of the fields of a schema, if it has any, and those of the shapes that it names."""
    if schema.get("type") == "array":
        yield from _fields(f"{heading} a list of", schema["items"], schemas)
        return
    known = schemas.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    if not known.get("properties"):
        return
    yield f"<h3>{heading}</h3><table><tr><th>field</th><th>type</th><th></th></tr>"
    for name, field in known["properties"].items():
        star = "" if name not in known.get("required", ()) else " (required)"
        text = escape(field.get("description", ""))
        yield f"<tr><td><code>{escape(name)}</code>{star}</td><td>{escape(_kind(field))}</td><td>{text}</td></tr>"
    yield "</table>"
    for name in dict.fromkeys(shape for field in known["properties"].values() for shape in _shapes(field)):
        yield from _fields(escape(name), schemas[name], schemas)


def _shapes(field: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the shapes that the type of a field names."""
    if "$ref" in field:
        yield str(field["$ref"]).rpartition("/")[2]
    for part in (*field.get("anyOf", ()), *([field["items"]] if "items" in field else [])):
        yield from _shapes(part)


def _kind(field: Mapping[str, Any]) -> str:
    """Return the type of a field in words.

    >>> _kind({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
    'string or list of string'
    """
    if "anyOf" in field:
        return " or ".join(_kind(one) for one in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if "enum" in field:
        return " or ".join(map(str, field["enum"]))
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}))}"
    return str(field.get("type", "any"))
