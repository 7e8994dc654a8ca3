"""The page in a browser: Debian's chromium, driven by playwright."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from tests.serving.running import running
from tests.serving.test_exploring import ENSEMBLE, RECURRENT, TEXT, TRANSFORMER, app_of

from dragoman.serving.gate import KeyGate
from dragoman.serving.interface import Gate
from dragoman.serving.keys import Keys
from dragoman.serving.store import MEMORY, open_store

CHROMIUM = Path("/usr/bin/chromium")
AXE = Path(os.environ.get("AXE_CORE", "no axe.min.js"))
"""The file of axe-core, by which accessibility is checked where it is named."""

browsing = pytest.mark.skipif(
    not CHROMIUM.exists() or not find_spec("playwright"), reason="needs chromium and playwright"
)


@contextmanager
def page_of(
    *names: str, gate: Gate | None = None, refused: str = "", max_n_best: int = 10, **options: Any
) -> Iterator[Any]:
    """Open the page of a service in a browser, and fail for what its console complains of or what it asks elsewhere.

    Complaints with the words `refused` are expected.
    """
    from playwright.sync_api import sync_playwright

    complaints: list[str] = []
    with running(app_of(*names, gate=gate, max_n_best=max_n_best)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(**options)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda asked: None if asked.url.startswith((address, "blob:")) else complaints.append(asked.url)
        )
        page.goto(address)
        yield page
        browser.close()
    complaints = [one for one in complaints if not refused or refused not in one]
    assert not complaints, complaints


def type_and_wait(page: Any, text: str = TEXT) -> None:
    """Type a sentence, and wait until its translation has been assessed."""
    page.locator("#text").fill(text)
    page.wait_for_function("() => document.querySelector('#said').textContent")


def tab_to(page: Any, focused: str, place: str) -> list[str]:
    """Press Tab until the focus is at a place, and return where it came by."""
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(focused))
        if reached[-1] == place:
            break
    assert reached[-1] == place, reached
    return reached


def check_accessibility(page: Any) -> None:
    """Fail for serious faults that axe-core finds, where it is there."""
    if AXE.exists():
        page.evaluate(AXE.read_text())
        found = page.evaluate("() => axe.run()")
        assert len(found["passes"]) > 10
        assert not [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")]


@pytest.mark.slow
@browsing
def test_in_a_browser_words_are_typed_pointed_at_forced_and_asked_for() -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
    with page_of(TRANSFORMER, **phone) as page:
        type_and_wait(page)
        page.locator("#runs button.token").first.click()
        page.locator("#alternatives button").nth(3).wait_for()
        page.locator("td[data-step='0'][data-place='2']").click()
        page.locator("td.forced").wait_for()
        assert page.locator("td.forced").inner_text() == "1.00"
        page.locator("summary").click()
        page.locator("#computation table").wait_for()
        page.locator("#language").select_option("vi")
        page.locator("h2", has_text="Bản dịch").first.wait_for()
        check_accessibility(page)
        text, link = page.locator(".translation").first.inner_text(), page.url
        page.goto("about:blank")
        page.goto(link)
        page.locator("td.forced").wait_for()
        assert page.locator(".translation").first.inner_text() == text
        assert page.locator("#text").input_value() == TEXT
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
@browsing
def test_in_a_browser_everything_is_done_by_keyboard() -> None:
    with page_of(TRANSFORMER) as page:
        focused = "() => [document.activeElement.id, document.activeElement.dataset.key ?? ''].join('')"
        page.keyboard.type(TEXT)
        page.wait_for_function("() => document.querySelector('#said').textContent")
        assert tab_to(page, focused, "t0-0")[:3] == ["beam", "temperature", "off"]
        assert page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        page.locator("#word").wait_for()
        assert page.evaluate(focused) == "t0-0"  # the focus stays where it was though the words were written anew
        tab_to(page, focused, "c0-0-0")
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowUp"):
            page.keyboard.press(key)
        assert page.evaluate(focused) == "c0-0-2"
        page.keyboard.press("Enter")
        page.locator("td.forced").wait_for()
        assert page.evaluate(focused) == "c0-0-2"
        assert page.locator("td[tabindex='0']").count() == 1
        page.keyboard.press("Tab")
        assert page.evaluate(focused).startswith("a-")


def numbers(page: Any, step: int) -> list[float]:
    """Return the weights of a step that the table shows."""
    return [float(one) for one in page.locator(f"td[data-step='{step}']").all_inner_texts()]


@pytest.mark.slow
@browsing
def test_in_a_browser_a_weight_is_dragged_by_mouse_and_by_keyboard_or_given_up() -> None:
    with page_of(TRANSFORMER) as page:
        type_and_wait(page)
        cell, told = page.locator("td[data-step='1'][data-place='2']"), page.locator(".told").first
        cell.scroll_into_view_if_needed()
        before, link = numbers(page, 1), page.url
        box = cell.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        higher = round(min(1, before[2] + 0.4), 2)

        def pull() -> list[float]:
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 90, y - 30)
            page.mouse.move(x, y - 60)
            return numbers(page, 1)

        shown = pull()
        assert shown[2] == pytest.approx(higher, abs=0.011) and sum(shown) == pytest.approx(1, abs=0.03)
        left = (1 - shown[2]) / (1 - before[2])
        assert shown == pytest.approx(
            [one * left for one in before[:2]] + [shown[2]] + [one * left for one in before[3:]], abs=0.02
        )
        assert told.inner_text().endswith(f": {shown[2]:.2f}")
        page.keyboard.press("Escape")
        page.mouse.up()
        assert numbers(page, 1) == before and page.url == link and told.inner_text() == "The weights are as before."
        shown = pull()
        page.mouse.up()
        page.locator("td.forced").wait_for()
        assert float(page.locator("td.forced").inner_text()) == shown[2] and page.url != link
        cell.focus()
        for key in ("+", "-", "-", "-"):
            page.keyboard.press(key)
        lower = numbers(page, 1)[2]
        assert lower == pytest.approx(shown[2] - 0.1)
        page.keyboard.press("ArrowLeft")  # leaving the cell gives up what was not confirmed
        assert numbers(page, 1)[2] == shown[2]
        cell.focus()
        page.keyboard.press("-")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "wanted => document.querySelector('td.forced')?.textContent === wanted", arg=f"{shown[2] - 0.05:.2f}"
        )
        page.wait_for_function("() => document.querySelector('#said').textContent")
        assert page.evaluate("() => document.activeElement.dataset.key") == "c0-1-2"
        cell.click()
        page.wait_for_function("() => document.querySelector('td.forced')?.textContent === '1.00'")
        page.wait_for_function("() => document.querySelector('#said').textContent")
        for _ in range(12):
            page.keyboard.press("-")
        left = 0.6 / (1 - before[2])  # the proportions of before it had all the weight
        assert numbers(page, 1) == pytest.approx(
            [one * left for one in before[:2]] + [0.4] + [one * left for one in before[3:]], abs=0.02
        )
        check_accessibility(page)


@pytest.mark.slow
@browsing
def test_in_a_browser_a_finger_scrolls_over_the_table_and_drags_a_weight_once_it_has_rested() -> None:
    with page_of(TRANSFORMER, viewport={"width": 390, "height": 700}, has_touch=True) as page:
        type_and_wait(page)
        cell = page.locator("td[data-step='1'][data-place='2']")
        cell.scroll_into_view_if_needed()
        touch = page.context.new_cdp_session(page)

        def swipe(up: int, rest: int) -> None:
            box = cell.bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
            page.wait_for_timeout(rest)
            for part in range(1, 6):
                moved = [{"x": x, "y": y - up * part / 5}]
                touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": moved})
                page.wait_for_timeout(30)
            touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
            page.wait_for_timeout(100)

        before, top = numbers(page, 1), page.evaluate("() => scrollY")
        swipe(100, 0)
        assert page.evaluate("() => scrollY") > top + 30
        assert numbers(page, 1) == before and page.locator("td.forced").count() == 0
        top = page.evaluate("() => scrollY")
        swipe(45, 600)
        page.locator("td.forced").wait_for()
        assert float(page.locator("td.forced").inner_text()) == pytest.approx(before[2] + 0.3, abs=0.02)
        assert page.evaluate("() => scrollY") <= top, "it has not scrolled, though the page may be shorter now"


@pytest.mark.slow
@browsing
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_two_models_stand_side_by_side_and_are_saved(scheme: str) -> None:
    with page_of(TRANSFORMER, RECURRENT, color_scheme=scheme) as page:
        page.locator("#beside").select_option(RECURRENT)
        type_and_wait(page)
        page.locator("section.run:nth-of-type(2) td[data-step]").first.wait_for()
        assert page.locator("h2", has_text=RECURRENT).is_visible()
        boxes = [one.bounding_box() for one in page.locator("section.run").all()]
        assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"]
        page.locator("section.run:nth-of-type(2) button.token").first.click()
        assert page.locator("section.run:nth-of-type(2) button[aria-pressed=true]").count() == 1
        assert page.locator("#word").is_hidden()
        check_accessibility(page)
        with page.expect_request("**/v1/explore/save") as asked, page.expect_download() as download:
            page.locator("#save").click()
        assert download.value.suggested_filename == "attention.html"
        assert download.value.path().read_text().count("<figure>") == 2
        assert (
            asked.value.post_data_json["target"] == "target"
        )  # which a second model of several languages must be told
        page.locator("#beside").select_option("")
        page.locator("section.run:nth-of-type(2)").wait_for(state="hidden")


@pytest.mark.slow
@browsing
def test_in_a_browser_a_model_that_only_translates_is_marked_and_translates() -> None:
    with page_of(TRANSFORMER, ENSEMBLE) as page:
        model, facts = page.locator("#model"), page.locator("#runs .quiet").first
        model.locator("option").nth(1).wait_for(state="attached")
        assert model.locator("option").all_inner_texts() == [TRANSFORMER, f"{ENSEMBLE} (only translates)"]
        model.select_option(ENSEMBLE)
        assert facts.inner_text().startswith("This model only translates")
        type_and_wait(page)
        assert page.locator(".translation").first.inner_text()
        assert page.locator(".problem").first.is_hidden() and page.locator("#temperature").is_hidden()
        broken = 'event: error\ndata: {"error": {"message": "too much waits here"}}\n\n'
        page.route("**/v1/translate", lambda route: route.fulfill(body=broken))
        page.locator("#text").fill(TEXT * 2)
        page.locator(".problem", has_text="too much waits").wait_for()
        page.unroute("**/v1/translate")
        check_accessibility(page)
        model.select_option(TRANSFORMER)
        type_and_wait(page)
        assert page.locator("#runs button.token").count() and page.locator("#temperature").is_visible()


@pytest.mark.slow
@browsing
def test_in_a_browser_the_theme_is_chosen_by_keyboard_and_kept() -> None:
    with page_of(TRANSFORMER, color_scheme="light") as page:
        paper = "() => getComputedStyle(document.body).backgroundColor"
        theme, (light, dark) = page.locator("#theme"), ("rgb(253, 253, 252)", "rgb(19, 22, 26)")
        page.locator("label", has_text="Theme").wait_for()
        assert theme.input_value() == "system" and page.evaluate(paper) == light
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(paper) == dark
        theme.focus()
        page.keyboard.press("ArrowDown")
        assert theme.input_value() == "light" and page.evaluate(paper) == light
        page.emulate_media(color_scheme="light")
        theme.select_option("dark")
        page.reload()
        assert page.evaluate(paper) == dark and theme.input_value() == "dark"
        page.locator("#language").select_option("vi")
        page.locator("label", has_text="Giao diện").wait_for()
        assert theme.locator("option").all_inner_texts() == ["theo hệ thống", "sáng", "tối"]
        type_and_wait(page)
        check_accessibility(page)
        forbidden = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('forbidden'); } });"
        page.add_init_script(forbidden)
        page.reload()
        assert page.evaluate(paper) == light
        theme.select_option("dark")
        assert page.evaluate(paper) == dark


@pytest.mark.slow
@browsing
def test_in_a_browser_a_translation_appears_as_it_is_written_until_more_is_typed() -> None:
    with page_of(TRANSFORMER) as page:
        page.evaluate(
            """() => {
            window.seen = [];
            const watch = () => { const one = document.querySelector(".writing"); if (one) seen.push(one.textContent); };
            new MutationObserver(watch).observe(document.querySelector("#runs"), { childList: true, subtree: true });
        }"""
        )
        type_and_wait(page)
        assert page.evaluate("() => seen.length") > 1
        assert page.locator(".writing").count() == 0
        asked: list[str] = []
        page.on("requestfailed", lambda request: asked.append(request.failure))
        page.route("**/v1/translate", lambda route: None)  # never answered
        page.locator("#text").fill(TEXT + TEXT)
        page.wait_for_timeout(300)
        page.locator("#text").press("a")
        page.wait_for_function("() => true")
        page.wait_for_timeout(100)
        assert asked == ["net::ERR_ABORTED"]


@pytest.mark.slow
@browsing
def test_in_a_browser_a_document_is_translated_and_saved(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text(f"{TEXT}\n" * 120, encoding="utf-8")
    with page_of(TRANSFORMER) as page:
        page.evaluate(
            """() => {
            window.seen = new Set();
            const watch = () => seen.add(document.querySelector("#far").textContent);
            new MutationObserver(watch).observe(document.querySelector("#far"), { childList: true });
        }"""
        )
        page.locator("#document").set_input_files(lines)
        page.locator("#fetch").wait_for()
        assert page.evaluate("() => [...seen]")[-3:] == ["100 of 120 sentences", "120 of 120 sentences", "Translated:"]
        assert page.locator("#bar").is_hidden()
        check_accessibility(page)
        with page.expect_download() as download:
            page.locator("#fetch").click()
        assert download.value.suggested_filename == "lines.target.txt"
        assert len(set(download.value.path().read_text(encoding="utf-8").split("\n")[:-1])) == 1


@pytest.mark.slow
@browsing
def test_in_a_browser_a_service_with_keys_asks_for_one() -> None:
    keys = Keys(open_store(MEMORY))
    with page_of(TRANSFORMER, RECURRENT, gate=KeyGate(keys), refused="403") as page:
        page.locator("#key").wait_for()  # before anything is typed
        page.locator("#text").fill(TEXT)
        page.locator("#key").fill("wrong")
        page.locator("#key").press("Enter")
        page.locator(".problem", has_text="unknown or was revoked").wait_for()
        check_accessibility(page)
        page.locator("#key").fill(keys.add("page"))
        page.locator("#key").press("Enter")
        page.wait_for_function("() => document.querySelector('#said').textContent")
        assert page.locator("#keys").is_hidden() and page.locator("#runs button.token").count() > 0
        assert page.locator("#model option").count() == 2
