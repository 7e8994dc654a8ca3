"""The page describes each route with its fields."""

from typing import Any

from dragoman.serving.api_page import api_page


def test_fields_are_described_and_escaped() -> None:
    schema = {"properties": {"text": {"type": "string", "description": "<b>"}}, "required": ["text"]}
    route = {
        "summary": "Translate",
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Form"}}}},
        "responses": {"200": {}},
    }
    description: dict[str, Any] = {
        "info": {"title": "T"},
        "paths": {"/x": {"post": route}},
        "components": {"schemas": {"Form": schema}},
    }
    page = api_page(description)
    assert "<code>POST /x</code>" in page and "&lt;b&gt;" in page and "(required)" in page
