"""The page in a browser, with links that somebody has written, a service that fails, and long texts."""

import json
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from tests.end_to_end.test_page import browsing, page_of, type_and_wait
from tests.serving.test_exploring import TEXT, TRANSFORMER


def follow(page: Any, link: dict[str, Any]) -> None:
    """Open a link of the page anew."""
    address = page.evaluate("() => location.origin")
    page.goto("about:blank")
    page.goto(f"{address}/#{quote(json.dumps(link))}")


@pytest.mark.slow
@browsing
@pytest.mark.parametrize(
    "odd",
    [
        {"language": "toString"},
        {"word": 0.5},
        {"beam": 1.5, "temperature": "hot", "model": 5, "target": [], "layer": -1, "head": {}, "prefix": "a", "off": 1},
        {"forced": [{"weights": []}], "beside": {"model": 1}, "toString": "a", "__proto__": {"word": 2}},
    ],
    ids=["language", "word", "kinds", "nested"],
)
def test_in_a_browser_what_is_odd_in_a_link_is_left_out(odd: dict[str, Any]) -> None:
    with page_of(TRANSFORMER) as page:
        type_and_wait(page)
        text = page.locator(".translation").first.inner_text()
        follow(page, {"text": TEXT, **odd})
        page.wait_for_function("() => document.querySelector('#said').textContent")
        assert page.locator(".translation").first.inner_text() == text
        assert page.locator("header p").inner_text().startswith("Type a sentence")
        assert page.locator(".problem").first.is_hidden() and page.locator("#word").is_hidden()
