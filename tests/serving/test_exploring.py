"""The routes of the page: `tests/end_to_end/test_page.py` looks at it in a browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.inference.ctranslate2.engines import CODEC
from tests.laws.architectures import ARCHITECTURES
from tests.serving.workers import offer
from tests.tiny import Trained

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from fastapi import FastAPI
from fastapi.testclient import TestClient

from dragoman.inference.exploring.explorer import Explorer
from dragoman.inference.translator import Translator
from dragoman.laws.examples import model_of
from dragoman.serving import exploring, routes
from dragoman.serving.app import create_app
from dragoman.serving.documents import Documents
from dragoman.serving.exploring import ExploreForm, exploration_table, explored, why_not_table
from dragoman.serving.gate import KeyGate
from dragoman.serving.interface import Gate
from dragoman.serving.keys import Keys
from dragoman.serving.models import Models
from dragoman.serving.service import TranslationService
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store
from dragoman.serving.workers import TorchWorker

TEXT = CODEC.decode([4, 7, 5, 9])
TRANSFORMER = "transformer pre-norm, sinusoidal"
RECURRENT = "luong, local-p"
ENSEMBLE = f"{TRANSFORMER}+{TRANSFORMER}"


def service_of_models(*names: str) -> TranslationService:
    """Return a service of small models; names joined by `+` are an ensemble."""
    settings = ServiceSettings()
    models = {name: [model_of(ARCHITECTURES[one]) for one in name.split("+")] for name in names}
    workers = {name: TorchWorker(Translator(some, CODEC, CODEC)) for name, some in models.items()}
    offers = [replace(offer(name, ("source", "target")), explorable="+" not in name) for name in names]
    return TranslationService(Models(offers, lambda one: workers[one.name], settings=settings.engine), settings)


def app_of(*names: str, gate: Gate | None = None, **settings: Any) -> FastAPI:
    """Return the application of a service of small models."""
    routers = (routes.router, Documents().router(), exploring.router)
    return create_app(service_of_models(*names), ServiceSettings(**settings), routers=routers, gate=gate)


@contextmanager
def client_of(*names: str) -> Iterator[TestClient]:
    """Give a client of such a service."""
    with TestClient(app_of(*names)) as client:
        yield client


def test_an_exploration_tells_tree_weights_and_alternatives() -> None:
    with client_of(TRANSFORMER) as client:
        found = client.post("/v1/explore", json={"text": TEXT, "beam": 3}).json()
        assert found["beam"] == 3 and found["owners"] == [*range(len(found["words"])), None]
        assert len(found["weights"]) == 2 and len(found["weights"][0]) == 2
        assert len(found["weights"][0][0]) == len(found["steps"]) == len(found["best"])
        assert [found["tree"][one][2] for one in found["best"]] == [step["token"] for step in found["steps"]]
        assert found["pieces"].keys() == {str(node[2]) for node in found["tree"]}
        other = next(one["token"] for one in found["steps"][0]["alternatives"][1:] if one["token"] > 3)
        assert client.post("/v1/explore", json={"text": TEXT, "prefix": [other]}).json()["steps"][0]["token"] == other
        forced = {"text": TEXT, "forced": [{"step": 0, "weights": [[2, 1.0]], "layer": 1, "head": 2}]}
        rows = client.post("/v1/explore", json=forced).json()["weights"]
        assert rows[0][1][0][2] == 1.0 != rows[0][0][0][2]
        word = {"text": TEXT, "word": CODEC.decode([other])}
        why = client.post("/v1/explore/why-not", json=word).json()
        assert why["chances"][0]["rank"] > 1 and why["forced"]["score"] <= why["chosen"]["score"]
        compared = client.post("/v1/explore/why-not", json={**word, "chosen": [other, CODEC.special.eos]}).json()
        assert compared["chosen"]["text"] == CODEC.decode([other]) and compared["forced"] == why["forced"]
        one = client.post(
            "/v1/explore/computation", json={"text": TEXT, "prefix": [other], "layer": 2, "head": 1}
        ).json()
        assert one["formula"] == "sᵀ h / √d" and sum(one["weights"]) == pytest.approx(1, abs=1e-4)


def test_terms_of_the_glossary_are_in_the_exploration_and_named(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("cats\tquyển sách\n", encoding="utf-8")
    run = trained("transformer")
    explorer = Explorer(Translator.load(run, device="cpu", glossary=[tmp_path / "terms.tsv"]))
    asked = ExploreForm(text="I love cats.")
    table = exploration_table(*explored(asked, explorer))
    assert table["terms"] == [{"source": "cats", "target": "quyển sách", "state": "forced"}]
    assert "quyển sách" in table["text"] and len(table["steps"]) == len(table["weights"][0][0])
    assert explorer.translator.translate(["I love cats."])[0].text == table["text"]
    shown = [step["token"] for step in table["steps"]]
    why = why_not_table(explorer.why_not(asked.text, "mèo", prefix=shown[:1], chosen=shown))
    assert why["chosen"]["text"] == table["text"] and why["chosen"]["score"] == pytest.approx(table["score"], abs=1e-4)
    assert "quyển sách" not in why["forced"]["text"]
    changed = exploration_table(*explored(asked.model_copy(update={"temperature": 2.0}), explorer))
    assert changed["terms"] == [] and "quyển sách" not in changed["text"]


def test_a_model_without_attention_says_so_and_errors_are_sentences() -> None:
    with client_of("plain gru") as client:
        assert client.post("/v1/explore", json={"text": TEXT}).json()["weights"] is None
        refused = client.post("/v1/explore", json={"text": TEXT, "off": [[1, 1]]})
        assert refused.status_code == 400 and "no attention over the source" in refused.json()["error"]["message"]
        assert client.post("/v1/explore", json={"text": TEXT, "unknown": 1}).status_code == 422


def test_the_page_runs_only_its_own_files() -> None:
    with client_of("plain gru") as client:
        page = client.get("/")
        assert "script-src 'self'" in page.headers["content-security-policy"] and "unsafe" not in str(page.headers)
        files = {path.name for path in (Path(exploring.__file__).parent / "page").iterdir()}
        assert files - {"page.html"} == set(exploring.PAGE)
        for name, kind in exploring.PAGE.items():
            answer = client.get(f"/page/{name}")
            assert answer.headers["content-type"].startswith(kind) and "http://" not in answer.text.replace(
                "http://www.w3.org", ""
            )
        assert client.get("/page/page.html").status_code == client.get("/page/..%2fapp.py").status_code == 404


def test_the_page_is_there_for_those_who_only_ask_for_its_head_and_figures_may_be_missing() -> None:
    with client_of("plain gru") as client:
        assert client.head("/").status_code == client.head("/page/page.js").status_code == 200
        assert 'method="HEAD",route="/",status="200"' in client.get("/metrics").text


def test_ensembles_are_not_offered_to_be_explored() -> None:
    with client_of(TRANSFORMER, ENSEMBLE) as client:
        models = client.get("/v1/languages").json()["models"]
        assert [(one["name"], one["explorable"]) for one in models] == [(TRANSFORMER, True), (ENSEMBLE, False)]
        refused = client.post("/v1/explore", json={"text": TEXT, "model": ENSEMBLE})
        assert refused.status_code == 400 and "one of their runs" in refused.json()["error"]["message"]


def test_a_translation_is_assessed_whoever_made_it() -> None:
    with client_of(TRANSFORMER) as client:
        asked = {"text": "we met the BBC in 1998", "translation": "a a a a a a a a"}
        found = client.post("/v1/explore/assess", json=asked).json()
        assert found["confidence"] is None and found["words"] == []
        lost = next(one for one in found["alarms"] if one["name"] == "number lost")
        assert lost == {"name": "number lost", "words": ["1998"], "places": [5]}
        assert "repetition" in [one["name"] for one in found["alarms"]]


def test_what_is_shown_is_saved_as_a_page_of_its_own() -> None:
    with client_of(TRANSFORMER, RECURRENT, "plain gru") as client:
        plain = client.post("/v1/explore", json={"text": TEXT}).json()
        answer = client.post("/v1/explore/save", json={"text": TEXT})
        assert answer.headers["content-disposition"] == 'attachment; filename="attention.html"'
        assert (
            f"<bdi>{TEXT}</bdi>  →  <bdi>{plain['text']}</bdi></figcaption>" in answer.text
            and "default-src 'none'" in answer.text
        )
        other = next(one["token"] for one in plain["steps"][0]["alternatives"][1:] if one["token"] > 3)
        changed = {"text": TEXT, "model": TRANSFORMER, "prefix": [other], "temperature": 0.5, "off": [[1, 1]]}
        both = client.post("/v1/explore/save", json={**changed, "beside": RECURRENT}).text
        assert both.count("<figure>") == 2 and both.count("luong, local-p: ") == 1
        assert both.count("(its first words are given, heads are off, temperature 0.5)</bdi></figcaption>") == 1
        refused = client.post("/v1/explore/save", json={"text": TEXT, "model": "plain gru"})
        assert refused.status_code == 400 and "no attention" in refused.json()["error"]["message"]


def test_a_sentence_is_counted_once_by_each_request_that_translates_it() -> None:
    keys = Keys(open_store(MEMORY))
    key = {"Authorization": f"Bearer {keys.add('mine')}"}
    counted: list[tuple[str, int, int]] = []
    with TestClient(app_of(TRANSFORMER, RECURRENT, "plain gru", gate=KeyGate(keys)), headers=key) as client:
        for path, more in (
            ("", {}),
            ("/save", {"beside": RECURRENT}),
            ("/save", {"beside": "plain gru"}),  # which has no attention to be saved
            ("/assess", {"translation": TEXT}),
            ("/computation", {"prefix": [5]}),
        ):
            before = keys.all()[0].characters
            status = client.post(f"/v1/explore{path}", json={"text": TEXT, **more}).status_code
            counted.append((path, status, keys.all()[0].characters - before))
    once = len(TEXT)
    assert counted == [
        ("", 200, once),
        ("/save", 200, once),
        ("/save", 400, 0),
        ("/assess", 200, 0),
        ("/computation", 200, 0),
    ]


def test_explorations_keep_to_the_limits_of_the_service() -> None:
    settings = ServiceSettings(max_n_best=3, max_characters=len(TEXT))
    app = create_app(service_of_models(TRANSFORMER), settings, routers=[exploring.router])
    with TestClient(app) as client:
        assert client.post("/v1/explore", json={"text": TEXT, "beam": 3}).status_code == 200
        for more, words in (({"beam": 4}, "at most 3"), ({"text": f"{TEXT}."}, f"at most {len(TEXT)} at once")):
            for path in ("", "/save"):
                refused = client.post(f"/v1/explore{path}", json={"text": TEXT, **more})
                assert refused.status_code == 413 and words in refused.json()["error"]["message"]
