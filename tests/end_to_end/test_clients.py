"""Clients of LibreTranslate and DeepL, unchanged, and what Weblate and Zotero send, against a running server."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serving.phrases import Phrases
from tests.serving.running import running

from dragoman.serving.app import create_app
from dragoman.serving.gate import KeyGate
from dragoman.serving.keys import Keys
from dragoman.serving.server import routers_of
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store


@pytest.fixture(scope="module")
def keys() -> Keys:
    return Keys(open_store(MEMORY))


@pytest.fixture(scope="module")
def address(keys: Keys) -> Iterator[str]:
    with running(
        create_app(Phrases(), ServiceSettings(), routers=routers_of(keys.store), gate=KeyGate(keys))
    ) as address:
        yield address


@pytest.fixture(scope="module")
def key(keys: Keys) -> str:
    return keys.add("clients")


def sent(url: str, body: Any, **headers: str) -> Any:
    """Send JSON as Weblate and Zotero do."""
    named = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), named), timeout=20) as answer:
        return json.load(answer)


def test_libretranslatepy(address: str, key: str):
    client = pytest.importorskip("libretranslatepy", reason="libretranslatepy is not installed").LibreTranslateAPI(
        address, key
    )
    assert client.translate("I love cats.", "en", "vi") == "Tôi yêu mèo."
    assert client.detect("thế giới")[0]["language"] == "vi"
    assert {one["code"] for one in client.languages()} == {"de", "en", "pt", "vi"}
    client.api_key = None
    with pytest.raises(urllib.error.HTTPError) as caught:
        client.translate("hello", "en", "vi")
    assert caught.value.code == 400
    caught.value.close()


@pytest.fixture
def translator(address: str, key: str) -> Iterator[Any]:
    deepl = pytest.importorskip("deepl", reason="deepl is not installed")
    found = deepl.Translator(key, server_url=address)
    yield found
    found.close()


def test_deepl_translates_texts(translator: Any):
    import deepl

    one = translator.translate_text("proton beam", target_lang="DE")
    assert (one.text, one.detected_source_lang, one.billed_characters) == ("Protonenstrahl", "EN", 11)
    many = translator.translate_text(["hello", "world"], source_lang="en", target_lang="vi", formality="prefer_more")
    assert [result.text for result in many] == ["xin chào", "thế giới"]
    assert translator.translate_text("proton beam", source_lang="EN", target_lang="pt-pt").text == "feixe de prótons"
    tagged = translator.translate_text(
        "red <x>house</x>", source_lang="EN", target_lang="VI", tag_handling="xml", ignore_tags=["x"]
    )
    assert "<x>house</x>" in tagged.text
    for wrong, words in (
        ({"target_lang": "XX"}, "target_lang.*not supported"),
        ({"target_lang": "VI", "source_lang": "XX"}, "source_lang.*not supported"),
        ({"target_lang": "VI", "split_sentences": "invalid"}, "split_sentences"),
        ({"target_lang": "VI", "formality": "more"}, "formality.*target_lang"),
    ):
        with pytest.raises(deepl.DeepLException, match=words):
            translator.translate_text("hello", **wrong)


def test_deepl_lists_and_counts(translator: Any, address: str):
    import deepl

    assert [one.code for one in translator.get_source_languages()] == ["DE", "EN", "VI"]
    assert "EN-GB" in [one.code for one in translator.get_target_languages()]
    assert translator.get_usage().character.valid
    pairs = [(one.source_lang, one.target_lang) for one in translator.get_glossary_languages()]
    assert ("en", "vi") in pairs
    other = deepl.Translator("invalid", server_url=address)
    with pytest.raises(deepl.AuthorizationException):
        other.translate_text("hello", target_lang="VI")
    other.close()


def test_deepl_keeps_glossaries(translator: Any):
    import deepl

    entries = {"artist": "Maler", "prize": "Gewinn", "A%=&": "B&=%", "Δぁ": "深"}
    made = translator.create_glossary("mine", "EN", "DE", entries)
    assert (made.source_lang, made.target_lang, made.entry_count, made.ready) == ("EN", "DE", 4, True)
    assert translator.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert translator.get_glossary_entries(made) == entries
    assert [one.name for one in translator.list_glossaries()] == ["mine"]
    assert translator.translate_text_with_glossary("artist", made).text == "Maler"
    assert (
        translator.translate_text("The artist slept", source_lang="EN", target_lang="DE", glossary=made).text.count(
            "Maler"
        )
        == 1
    )
    csv = translator.create_glossary_from_csv("csv", "EN", "DE", 'sourceEntry1,targetEntry1\n"a,b",c')
    assert translator.get_glossary_entries(csv) == {"sourceEntry1": "targetEntry1", "a,b": "c"}
    translator.delete_glossary(csv)
    translator.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        translator.get_glossary(made)


def test_deepl_translates_documents(translator: Any, tmp_path: Path):
    (tmp_path / "in.txt").write_text("artist\nproton beam\n")
    glossary = translator.create_glossary("doc", "EN", "DE", {"artist": "Maler"})
    status = translator.translate_document_from_filepath(
        tmp_path / "in.txt", tmp_path / "out.txt", source_lang="EN", target_lang="DE", glossary=glossary
    )
    assert status.done and status.billed_characters == 17
    assert (tmp_path / "out.txt").read_text() == "Maler\nProtonenstrahl\n"


def test_weblate(address: str, key: str):
    found = sent(f"{address}/translate", {"api_key": key, "q": ["hello", "red house"], "source": "en", "target": "vi"})
    assert found == {"translatedText": ["xin chào", "nhà đỏ"]}
    body = {
        "text": ['open <x id="0"></x> the page'], "source_lang": "EN", "target_lang": "VI", "formality": "default",
        "tag_handling": "xml", "ignore_tags": ["x"],
    }  # fmt: skip
    (one,) = sent(f"{address}/v2/translate", body, Authorization=f"DeepL-Auth-Key {key}")["translations"]
    assert one["text"].count('<x id="0"></x>') == 1


def test_zotero(address: str, key: str):
    body = {"q": "I love cats.", "source": "en", "target": "vi", "format": "text", "api_key": key}
    assert sent(f"{address}/translate", body) == {"translatedText": "Tôi yêu mèo."}
    asked = {"text": ["hello"], "source_lang": "EN", "target_lang": "VI"}
    assert (
        sent(f"{address}/v2/translate", asked, Authorization=f"DeepL-Auth-Key {key}")["translations"][0]["text"]
        == "xin chào"
    )
