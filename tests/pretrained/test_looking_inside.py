"""Pages on imported models show words, and nothing of how the models mark sentences, languages and spaces."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from tests.pretrained.folders import write_model
from tests.pretrained.tokenizer_files import texts
from tests.tiny import dragoman

from dragoman.inference.confidence.alarms import shown as bare_words
from dragoman.pretrained.job import import_model

SOURCES = [text for text in texts()[:20:2] if len(text.split()) > 3][:4]
TARGET = texts()[1]
WAYS = {"marian": ("en", "vi"), "nllb": ("eng_Latn", "vie_Latn"), "m2m100": ("en", "vi")}
SHORT = ("--set", "maximum_length=12", "--device", "cpu")
LEAKS = re.compile(r"▁|</?s>|<pad>|<unused|<extra_id|__[a-z]+__|eng_Latn|vie_Latn|>>\w+<<")
"""What no reader should see; `<unk>` is what a random model may write."""


@pytest.fixture(scope="module", params=WAYS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random imported model of one direction, calibrated on judgements."""
    place = tmp_path_factory.mktemp("inside")
    import_model(str(write_model(place / "model", request.param)), place / "run", languages=WAYS[request.param])
    rows = zip(texts()[:120:2], texts()[1:120:2], strict=True)
    lines = (f"{source}\t{target}\t{number % 2}\n" for number, (source, target) in enumerate(rows))
    (place / "judged.tsv").write_text("".join(lines), encoding="utf-8")
    made = dragoman("calibrate", place / "run", "--judgements", place / "judged.tsv", "--device", "cpu")
    assert made.code == 0, made.errors
    return place / "run"


def shown(page: Path) -> str:
    """Return the text of the sentences on a page, as a reader sees it."""
    html = page.read_text(encoding="utf-8")
    parts = re.findall(r"<bdi[^>]*>(.*?)</bdi>", html, re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", "", " ".join(parts)))


@pytest.mark.slow
def test_a_report_shows_words(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    found = dragoman("translate", run, *SHORT, "--report", page, stdin="\n".join(SOURCES) + "\n")
    assert found.code == 0, found.errors
    text = shown(page)
    assert all(word in text for source in SOURCES for word in source.split())
    assert all(word in text for line in found.lines for word in line.split())
    assert LEAKS.search(text) is None and all(LEAKS.search(line) is None for line in found.lines)


@pytest.mark.parametrize("attention", ["cross", "encoder", "decoder"])
def test_a_picture_of_attention_shows_words(attention: str, run: Path, tmp_path: Path) -> None:
    page = tmp_path / "attention.html"
    found = dragoman(
        *("attend", run, SOURCES[0], "--target", TARGET, "--attention", attention, "--device", "cpu"),
        *("-o", page),
    )
    assert found.code == 0, found.errors
    text = unescape(page.read_text(encoding="utf-8"))
    for shown_text in (SOURCES[0] if attention != "decoder" else "", TARGET if attention != "encoder" else ""):
        assert all(word in text for word in shown_text.split())
    assert LEAKS.search(_without_style(text)) is None


def test_links_are_between_words(run: Path, tmp_path: Path) -> None:
    for side, lines in (("en", SOURCES), ("vi", [TARGET] * len(SOURCES))):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = dragoman("align", run, tmp_path / "en", tmp_path / "vi", "--device", "cpu")
    assert found.code == 0, found.errors
    for line, source in zip(found.lines, SOURCES, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert links and {target for _, target in links} <= set(range(len(TARGET.split())))
        assert {origin for origin, _ in links} <= set(range(len(source.split())))


def test_assessed_words_are_those_of_the_text(run: Path) -> None:
    options = ("--json", "--alarms", "--align")
    found = dragoman("translate", run, *SHORT, *options, stdin="\n".join(SOURCES) + "\n")
    assert found.code == 0, found.errors
    for line, source in zip(found.lines, SOURCES, strict=True):
        told = json.loads(line)
        for alarm in told["alarms"]:
            assert set(alarm["words"]) <= {*source.split(), *bare_words(source.split())}
        assert LEAKS.search(told["translation"]) is None


def test_a_service_explores_it_in_its_usual_direction_and_in_others(run: Path) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from dragoman.serving import exploring, routes
    from dragoman.serving.app import create_app
    from dragoman.serving.models import Models, loader, read_offers
    from dragoman.serving.service import TranslationService
    from dragoman.serving.settings import ServiceSettings

    settings = ServiceSettings()
    load = loader(device="cpu", maximum_length=12)
    models = Models(read_offers([run], device="cpu"), load, settings=settings.engine)
    app = create_app(TranslationService(models, settings), settings, routers=(routes.router, exploring.router))
    with TestClient(app) as client:
        (model,) = client.get("/v1/languages").json()["models"]
        assert tuple(model["directions"][0]) in WAYS.values()
        for source, target in (model["directions"][0], model["directions"][-1]):
            asked = {"text": SOURCES[0], "source": source, "target": target}
            found = client.post("/v1/explore", json=asked)
            assert found.status_code == 200, found.json()
            why = client.post("/v1/explore/assess", json={**asked, "translation": TARGET})
            assert why.status_code == 200, why.json()


def _without_style(html: str) -> str:
    """Return a page without its styles and scripts."""
    return re.sub(r"<(style|script).*?</\1>", "", html, flags=re.DOTALL)
