"""The page describes each route with its fields."""

import re
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient
from tests.serving.phrases import Phrases

from dragoman.serving.api_page import api_page
from dragoman.serving.app import create_app
from dragoman.serving.server import routers_of
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store


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


def test_forms_lists_and_the_shapes_inside_are_described_too() -> None:
    client = TestClient(create_app(Phrases(), ServiceSettings(), routers=routers_of(open_store(MEMORY))))
    sections = dict(
        re.findall(r"<section><h2><code>([^<]*)</code></h2>(.*?)</section>", client.get("/docs").text, re.S)
    )
    for route, words in {
        "POST /v1/documents": ("It takes", "<code>file</code> (required)", "<code>target</code> (required)"),
        "POST /v1/translate": ("<h3>TranslationForm</h3>", "<code>alternatives</code>", "<h3>AlternativeForm</h3>"),
        "POST /v2/glossaries": ("It answers", "<code>glossary_id</code>"),
        "GET /languages": ("It answers a list of", "<code>targets</code>"),
    }.items():
        assert all(word in sections[route] for word in words), route
