"""The routes of the page, and the page in a browser."""

import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.inference.ctranslate2.engines import CODEC
from tests.laws.architectures import ARCHITECTURES

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from dragoman.inference.translator import Translator
from dragoman.laws.examples import model_of
from dragoman.serving import exploring
from dragoman.serving.app import create_app
from dragoman.serving.interface import Model
from dragoman.serving.settings import ServiceSettings

TEXT = CODEC.decode([4, 7, 5, 9])
CHROMIUM = Path("/usr/bin/chromium")


class Alone:
    """A service of one small model, which only looks into it."""

    def __init__(self, name: str) -> None:
        self.translator = Translator([model_of(ARCHITECTURES[name])], CODEC, CODEC)

    draining = False

    def figures(self) -> dict[str, dict[str, float]]:
        return {}

    def models(self) -> tuple[Model, ...]:
        return (Model("small", (("en", "vi"),)),)

    def languages(self) -> dict[str, frozenset[str]]:
        return {"en": frozenset({"vi"})}

    async def compute(self, model: str | None, work: Any) -> Any:
        return work(self.translator)


def app_of(name: str) -> FastAPI:
    from dragoman.serving import routes

    return create_app(Alone(name), ServiceSettings(), routers=(routes.router, exploring.router))  # type: ignore[arg-type]


def test_an_exploration_tells_tree_weights_and_alternatives() -> None:
    client = TestClient(app_of("transformer pre-norm, sinusoidal"))
    found = client.post("/v1/explore", json={"text": TEXT, "beam": 3}).json()
    assert len(found["weights"]) == 2 and len(found["weights"][0]) == 2
    assert len(found["weights"][0][0]) == len(found["steps"]) == len(found["best"])
    assert [found["tree"][one][2] for one in found["best"]] == [step["token"] for step in found["steps"]]
    assert found["pieces"].keys() == {str(node[2]) for node in found["tree"]}
    other = next(one["token"] for one in found["steps"][0]["alternatives"][1:] if one["token"] > 3)
    assert client.post("/v1/explore", json={"text": TEXT, "prefix": [other]}).json()["steps"][0]["token"] == other
    forced = {"text": TEXT, "forced": [{"step": 0, "weights": [[2, 1.0]], "layer": 1, "head": 2}]}
    rows = client.post("/v1/explore", json=forced).json()["weights"]
    assert rows[0][1][0][2] == 1.0 != rows[0][0][0][2]
    why = client.post("/v1/explore/why-not", json={"text": TEXT, "word": CODEC.decode([other])}).json()
    assert why["chances"][0]["rank"] > 1 and why["forced"]["score"] <= why["chosen"]["score"]
    one = client.post("/v1/explore/computation", json={"text": TEXT, "prefix": [other], "layer": 2, "head": 1}).json()
    assert one["formula"] == "sᵀ h / √d" and sum(one["weights"]) == pytest.approx(1, abs=1e-4)


def test_a_model_without_attention_says_so_and_errors_are_sentences() -> None:
    client = TestClient(app_of("plain gru"))
    assert client.post("/v1/explore", json={"text": TEXT}).json()["weights"] is None
    refused = client.post("/v1/explore", json={"text": TEXT, "off": [[1, 1]]})
    assert refused.status_code == 400 and "no attention over the source" in refused.json()["error"]["message"]
    assert client.post("/v1/explore", json={"text": TEXT, "unknown": 1}).status_code == 422


def test_the_page_runs_only_its_own_files() -> None:
    client = TestClient(app_of("plain gru"))
    page = client.get("/")
    assert "script-src 'self'" in page.headers["content-security-policy"] and "unsafe" not in str(page.headers)
    for name, kind in exploring.PAGE.items():
        answer = client.get(f"/page/{name}")
        assert answer.headers["content-type"].startswith(kind) and "http://" not in answer.text.replace(
            "http://www.w3.org", ""
        )
    assert client.get("/page/page.html").status_code == client.get("/page/..%2fapp.py").status_code == 404


def test_the_page_is_there_for_those_who_only_ask_for_its_head_and_figures_may_be_missing() -> None:
    client = TestClient(app_of("plain gru"))
    assert client.head("/").status_code == client.head("/page/page.js").status_code == 200
    assert 'method="HEAD",route="/",status="200"' in client.get("/metrics").text


@pytest.fixture
def address() -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app_of("transformer pre-norm, sinusoidal"), port=0, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists() or not find_spec("playwright"), reason="needs chromium and playwright")
def test_in_a_browser_words_are_typed_pointed_at_forced_and_asked_for(address: str) -> None:
    from playwright.sync_api import sync_playwright

    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.locator("#text").fill(TEXT)
        page.locator("#translation button").first.click()
        page.locator("#alternatives button").nth(3).wait_for()
        page.locator("#heat td[data-step='0'][data-place='2']").click()
        page.locator("td.forced").wait_for()
        assert page.locator("td.forced").inner_text() == "1.00"
        page.locator("summary").click()
        page.locator("#computation table").wait_for()
        page.locator("#language").select_option("vi")
        page.locator("h2", has_text="Bản dịch").wait_for()
        text, link = page.locator("#translation").inner_text(), page.url
        page.goto("about:blank")
        page.goto(link)
        page.locator("td.forced").wait_for()
        assert page.locator("#translation").inner_text() == text
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        browser.close()
    assert not errors, errors
