"""The page of an attention picture in a browser: Debian's chromium, driven by playwright."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from dragoman.inspection.heatmap import draw
from dragoman.inspection.picture import AttentionPicture

CHROMIUM = Path("/usr/bin/chromium")
LONG = "Straßenbahnhaltestelle"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists() or not find_spec("playwright"), reason="needs chromium and playwright"),
]


@pytest.fixture
def browser() -> Iterator[Any]:
    """Start a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def opened(browser: Any, folder: Path, *source: str) -> Any:
    """Open the picture of a sentence in a narrow window."""
    weights = [[[[1 / len(source)] * len(source)] * 2]]
    draw(AttentionPicture(source, [LONG, "ngủ"], weights, " ".join(source)), folder / "picture.html")
    page = browser.new_page(viewport={"width": 420, "height": 900})
    page.goto((folder / "picture.html").as_uri())
    return page


def test_a_cell_stays_under_the_pointer(browser: Any, tmp_path: Path) -> None:
    """Names of its row and column that grew would move it away, and back again without the pointer, without end."""
    page = opened(browser, tmp_path, "the", LONG, "sleeps")
    cell = page.locator(".matrix tbody td").nth(1)
    before = cell.bounding_box()
    page.mouse.move(before["x"] + before["width"] / 2, before["y"] + before["height"] - 2)
    page.locator("th.on").first.wait_for()
    assert cell.bounding_box() == before


def test_words_of_hundreds_of_letters_do_not_widen_the_page(browser: Any, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, "the", LONG * 20, "sleeps")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".matrix").bounding_box()["height"] < 700
