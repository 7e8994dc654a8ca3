"""DeepL's routes: texts, languages, usage; shapes, codes and words as its clients know them."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serving.phrases import Phrases

from dragoman.serving.app import create_app
from dragoman.serving.deepl import DeepL
from dragoman.serving.gate import KeyGate
from dragoman.serving.glossaries import Glossaries
from dragoman.serving.interface import OverloadedError
from dragoman.serving.keys import Keys
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store

SETTINGS = ServiceSettings(max_characters=500, max_texts=5)


@pytest.fixture
def service() -> Phrases:
    return Phrases()


@pytest.fixture
def client(service: Phrases) -> Iterator[TestClient]:
    router = DeepL(Glossaries(open_store(MEMORY))).router()
    with TestClient(create_app(service, SETTINGS, routers=[router])) as client:
        yield client


def asked(client: TestClient, **fields: Any) -> Any:
    answer = client.post("/v2/translate", json={"target_lang": "VI", **fields})
    assert answer.headers["x-trace-id"]
    return answer.json()["translations"] if answer.status_code == 200 else (answer.status_code, answer.json())


def said(client: TestClient, text: str, **fields: Any) -> str:
    return asked(client, text=[text], source_lang="EN", **fields)[0]["text"]


def test_texts_are_translated_in_order_and_billed(client: TestClient):
    assert asked(client, text=["hello", "red house"], source_lang="en") == [
        {"detected_source_language": "EN", "text": "xin chào", "billed_characters": 5},
        {"detected_source_language": "EN", "text": "nhà đỏ", "billed_characters": 9},
    ]
    assert "billed_characters" not in asked(client, text=["hello"], source_lang="en", show_billed_characters=False)[0]
    form = client.post("/v2/translate", content="text=hello&text=world&target_lang=vi&source_lang=EN",
                       headers={"content-type": "application/x-www-form-urlencoded"}).json()  # fmt: skip
    assert [one["text"] for one in form["translations"]] == ["xin chào", "thế giới"]


def test_the_source_of_each_text_is_detected(client: TestClient):
    found = asked(client, text=["Protonenstrahl", "Haus", "artist"], target_lang="EN-US")
    assert [(one["detected_source_language"], one["text"]) for one in found[:2]] == [
        ("DE", "proton beam"),
        ("DE", "house"),
    ]
    assert asked(client, text=["!?"])[0]["text"] == "!?"


def test_tags_of_xml_go_with_their_words(client: TestClient, service: Phrases):
    placeholder = 'Hello <x id="1"></x> world'
    assert said(client, placeholder, tag_handling="xml", ignore_tags=["x"]).count('<x id="1"></x>') == 1
    kept = "open the page <keep>Settings</keep>"
    assert said(client, kept, tag_handling="xml", ignore_tags=["keep"]) == "<keep>Settings</keep> trang cái mở"
    assert said(client, kept, tag_handling="xml", ignore_tags="a,keep") == "<keep>Settings</keep> trang cái mở"
    parts = "<par>red </par><par>house</par>"
    assert said(client, parts, tag_handling="xml") == "<par>đỏ </par><par>nhà</par>"
    joined = said(client, parts, tag_handling="xml", non_splitting_tags="par")
    assert joined.count("<par>") == joined.count("</par>") == 2 and "nhà" in joined
    assert service.calls[-1].texts == ("red house",)
    split = said(client, "red<p>house</p>", tag_handling="xml", splitting_tags=["p"], outline_detection=False)
    assert split == "đỏ<p>nhà</p>"


def test_tags_of_html_go_with_their_words(client: TestClient):
    page = '<h1>red house</h1>\n<p translate="no">red house</p>'
    found = asked(client, text=[page], source_lang="EN", tag_handling="html", tag_handling_version="v2")[0]
    assert found["text"] == '<h1>nhà đỏ</h1>\n<p translate="no">red house</p>'
    assert found["tag_handling_version"] == "v2"
    for given, tag in (("SAMP2", "samp2"), ("samp2", "SAMP2")):
        kept = f"hello <{tag}>red house</{tag}>"
        assert said(client, kept, tag_handling="html", ignore_tags=[given]) == f"xin chào <{tag}>red house</{tag}>"


def test_tags_do_not_tell_the_language(client: TestClient):
    page = '<p title="open the red page settings">xin chào</p>'
    found = asked(client, text=[page, "hello"], target_lang="EN-US", tag_handling="html")
    assert [one["detected_source_language"] for one in found] == ["VI", "EN"]
    assert [one["text"] for one in found] == ['<p title="open the red page settings">hello</p>', "hello"]


def test_splitting_and_formatting_are_chosen(client: TestClient, service: Phrases):
    for given, split in (("0", "none"), ("1", "sentences"), ("nonewlines", "punctuation"), (0, "none")):
        said(client, "hello", split_sentences=given)
        assert service.calls[-1].options.split == split
    said(client, "<b>hello</b>", tag_handling="html")
    assert service.calls[-1].options.split == "punctuation"
    assert said(client, "Hello!", preserve_formatting=True) == "Xin chào!"
    assert said(client, "red", context="a house") == "đỏ" and service.calls[-1].options.context == "a house"
    model = asked(client, text=["red"], source_lang="EN", model_type="prefer_quality_optimized")[0]
    assert model["model_type_used"] == "quality_optimized"


def test_what_language_a_refused_text_seems_to_be_in_is_told(client: TestClient):
    refused = {"message": "Value for 'target_lang' not supported.", "detail": "no such pair"}
    assert asked(client, text=["xin chào thế giới"], target_lang="DE") == (400, refused)


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({}, 400, "Parameter 'text' not specified"),
        ({"text": [1]}, 400, "Parameter 'text' not specified"),
        ({"text": ["a"], "target_lang": "XX"}, 400, "Value for 'target_lang' not supported."),
        ({"text": ["a"], "target_lang": None}, 400, "Value for 'target_lang' not supported."),
        ({"text": ["a"], "source_lang": "XX"}, 400, "Value for 'source_lang' not supported."),
        ({"text": ["a"], "source_lang": "DE"}, 400, "Value for 'target_lang' not supported."),
        ({"text": ["a"], "split_sentences": "2"}, 400, "Value for 'split_sentences' not supported."),
        ({"text": ["a"], "tag_handling": "md"}, 400, "Value for 'tag_handling' not supported."),
        ({"text": ["a"], "outline_detection": "maybe"}, 400, "Value for 'outline_detection' not supported."),
        ({"text": ["a"], "formality": "invalid"}, 400, "Value for 'formality' not supported."),
        ({"text": ["a"], "formality": "more"}, 400, "'formality' is not supported for given 'target_lang'."),
        ({"text": ["a"], "style_id": "x"}, 400, "Value for 'style_id' not supported."),
        ({"text": ["a"], "ignore_tags": 5}, 400, "Value for 'ignore_tags' not supported."),
        ({"text": ["a"], "glossary_id": "x"}, 400,
         "Use of a glossary requires the source_lang parameter to be specified"),
        ({"text": ["a"], "source_lang": "EN", "glossary_id": "x"}, 404, "Glossary not found"),
        ({"text": ["a" * 501]}, 413, "501 characters are too many; send at most 500 at once"),
    ],
)  # fmt: skip
def test_refusals_have_the_words_that_clients_know(client: TestClient, fields: Any, status: int, message: str):
    assert asked(client, **fields) == (status, {"message": message})


def test_other_paths_and_bodies_are_refused_in_the_same_shape(client: TestClient):
    found = client.get("/v2/nothing")
    assert (found.status_code, found.json()) == (404, {"message": "Not found"}) and found.headers["x-trace-id"]
    broken = client.post("/v2/translate", content=b"{", headers={"content-type": "application/json"})
    assert broken.status_code == 400 and "cannot be read" in broken.json()["message"]


def test_languages_have_the_codes_of_deepl(client: TestClient):
    assert client.get("/v2/languages").json()[:2] == [
        {"language": "DE", "name": "German"},
        {"language": "EN", "name": "English"},
    ]
    targets = client.get("/v2/languages", params={"type": "target"}).json()
    assert {"language": "EN-GB", "name": "English (British)", "supports_formality": False} in targets
    assert [one["language"] for one in targets] == ["DE", "EN-GB", "EN-US", "PT-BR", "PT-PT", "VI"]
    sent = {"type": "target"}
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert client.request("GET", "/v2/languages", content="type=target", headers=kind).json() == targets
    assert client.post("/v2/languages", json=sent).json() == targets
    assert client.get("/v2/languages", params={"type": "x"}).status_code == 400


def test_keys_are_asked_for_counted_and_refused_beyond_their_quota(service: Phrases):
    keys = Keys(open_store(MEMORY))
    key = keys.add("mine", quota=10, rate=100)
    router = DeepL(Glossaries(keys.store)).router()
    with TestClient(create_app(service, SETTINGS, routers=[router], gate=KeyGate(keys))) as client:
        assert asked(client, text=["hello"])[0] == 403
        assert client.get("/v2/usage", headers={"Authorization": "DeepL-Auth-Key x"}).status_code == 403
        client.headers["Authorization"] = f"DeepL-Auth-Key {key}"
        service.failures = [OverloadedError("full", retry_after=3)]
        assert asked(client, text=["red house"], source_lang="EN")[0] == 429
        for wrong in ({"target_lang": "XX"}, {"formality": "more"}, {"model_type": "x"}, {"glossary_id": "x"}):
            assert asked(client, text=["hello"], **{"source_lang": "EN", **wrong})[0] in (400, 404)
        assert said(client, "hello") == "xin chào"
        assert client.get("/v2/usage").json() == {"character_count": 5, "character_limit": 10}
        assert asked(client, text=["red house"], source_lang="EN") == (
            456,
            {"message": "Quota for this billing period has been exceeded."},
        )
        del client.headers["Authorization"]
        assert client.post("/v2/usage", data={"auth_key": key}).json()["character_count"] == 5


def test_usage_without_keys_has_numbers(client: TestClient):
    assert client.get("/v2/usage").json() == {"character_count": 0, "character_limit": 1_000_000_000_000}
