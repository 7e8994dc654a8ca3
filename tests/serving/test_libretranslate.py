"""LibreTranslate's routes: shapes, codes and words as its clients know them."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serving.phrases import Phrases

from dragoman.serving import files
from dragoman.serving.app import create_app
from dragoman.serving.files import READERS, Upload
from dragoman.serving.gate import KeyGate
from dragoman.serving.interface import Detection, ModelError, OverloadedError, TooSlowError
from dragoman.serving.keys import Keys
from dragoman.serving.libretranslate import LibreTranslate
from dragoman.serving.server import routers_of
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store

SETTINGS = ServiceSettings(max_characters=200, max_texts=5, max_n_best=4)


@pytest.fixture
def service() -> Phrases:
    return Phrases()


@pytest.fixture
def client(service: Phrases) -> Iterator[TestClient]:
    with TestClient(create_app(service, SETTINGS, routers=[LibreTranslate().router()])) as client:
        yield client


def asked(client: TestClient, **fields: Any) -> Any:
    answer = client.post("/translate", json={"source": "en", "target": "vi", **fields})
    return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json())


def test_a_text_or_a_list_is_translated(client: TestClient, service: Phrases):
    assert asked(client, q="Hello") == {"translatedText": "Xin chào"}
    assert asked(client, q=["I love cats.", "red house"]) == {"translatedText": ["Tôi yêu mèo.", "nhà đỏ"]}
    assert len(service.calls) == 2
    assert asked(client, q=["hello"], source="EN", target="VI") == {"translatedText": ["xin chào"]}


def test_fields_come_as_json_as_a_form_or_in_the_address(client: TestClient):
    given = {"q": "red house", "source": "en", "target": "vi"}
    same = [
        client.post("/translate", json=given),
        client.post("/translate", data=given),
        client.post("/translate", params=given),
        client.post("/translate", data={"q": "red house"}, params={"source": "en", "target": "vi", "q": "x"}),
        client.post("/translate", files={"q": (None, "red house"), "source": (None, "en"), "target": (None, "vi")}),
    ]
    assert [one.json() for one in same] == [{"translatedText": "nhà đỏ"}] * len(same)


def test_the_source_is_detected_once_and_said_for_each_text(client: TestClient, service: Phrases):
    one = asked(client, q="good morning", source="auto")
    assert one["detectedLanguage"]["language"] == "en" and 50 < one["detectedLanguage"]["confidence"] <= 100
    many = asked(client, q=["good morning", "hello"], source="AUTO")
    assert many["detectedLanguage"] == [many["detectedLanguage"][0]] * 2
    assert {call.source for call in service.calls} == {"en"}
    assert asked(client, q="xin chào", source="auto") == {
        "translatedText": "xin chào",
        "detectedLanguage": asked(client, q="xin chào", source="auto")["detectedLanguage"],
    }
    assert asked(client, q="👍 !?", source="auto") == {
        "translatedText": "👍 !?",
        "detectedLanguage": {"confidence": 0.0, "language": "en"},
    }


def test_alternatives_are_other_translations_and_come_only_if_asked_for(client: TestClient):
    assert asked(client, q="hello", alternatives=2)["alternatives"] == ["xin chào (1)", "xin chào (2)"]
    assert asked(client, q=["hello", "👍"], alternatives="1")["alternatives"] == [["xin chào (1)"], []]
    assert "alternatives" not in asked(client, q="hello", alternatives=0)
    assert asked(client, q="<b>hello</b>", alternatives=1, format="html") == {
        "translatedText": "<b>xin chào</b>",
        "alternatives": [],
    }


def test_tags_of_html_stay(client: TestClient, service: Phrases):
    found = asked(client, q=["<p>the <b>red</b> house</p>", "<br>", "R&amp;D"], format="html")
    assert found == {"translatedText": ["<p>nhà <b>đỏ</b> cái</p>", "<br>", "R&amp;D"]}
    assert len(service.calls) == 1 and service.calls[0].options.alignment


def test_tags_do_not_tell_the_language(client: TestClient):
    page = '<p title="open the red page settings">xin chào</p>'
    found = asked(client, q=[page], source="auto", target="en", format="html")
    assert found["translatedText"] == ['<p title="open the red page settings">hello</p>']
    assert found["detectedLanguage"][0]["language"] == "vi"
    assert asked(client, q="<code>open</code>", source="auto", target="vi", format="html") == {
        "translatedText": "<code>open</code>",
        "detectedLanguage": {"confidence": 0.0, "language": "en"},
    }


@pytest.mark.parametrize("attends", [None, False])
def test_tags_stay_without_attention(attends: bool | None):
    client = TestClient(create_app(Phrases(attends=attends), SETTINGS, routers=[LibreTranslate().router()]))
    assert asked(client, q="<i>red</i> house", format="html")["translatedText"].count("<i>") == 1


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"q": ""}, 400, "Invalid request: missing q parameter"),
        ({"q": []}, 400, "Invalid request: missing q parameter"),
        ({}, 400, "Invalid request: missing q parameter"),
        ({"q": "x", "source": ""}, 400, "Invalid request: missing source parameter"),
        ({"q": "x", "target": None}, 400, "Invalid request: missing target parameter"),
        ({"q": "x", "source": "zz"}, 400, "zz is not supported"),
        ({"q": "x", "target": "zz"}, 400, "zz is not supported"),
        ({"q": "x", "source": "vi", "target": "de"}, 400,
         "German (de) is not available as a target language from Vietnamese (vi)"),
        ({"q": "x", "format": "md"}, 400, "md format is not supported"),
        ({"q": "x", "alternatives": "many"}, 400, "Invalid request: alternatives parameter is not a number"),
        ({"q": "x", "alternatives": 4}, 400, "Invalid request: alternatives parameter must be <= 3"),
        ({"q": "x" * 201}, 400, "Invalid request: request (201) exceeds text limit (200)"),
        ({"q": ["x"] * 6}, 400, "Invalid request: request (6) exceeds text limit (5)"),
        ({"q": 5}, 400, "Invalid request: q must be a string or a list of strings"),
        ({"q": ["x", None]}, 400, "Invalid request: q must be a string or a list of strings"),
    ],
)  # fmt: skip
def test_refusals_have_the_words_that_clients_know(client: TestClient, fields: Any, status: int, words: str):
    assert asked(client, **fields) == (status, {"error": words})


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"q": "\\ud800"}', b'"x"', b'{"q": NaN}', b"[" * 100_000, b"\xff"])
def test_what_is_no_json_is_refused(client: TestClient, body: bytes):
    found = client.post("/translate", content=body, headers={"content-type": "application/json"})
    assert (found.status_code, found.json()) == (400, {"error": "Invalid JSON format"})


def test_other_methods_are_refused(client: TestClient):
    for method, path in (("GET", "/translate"), ("GET", "/detect"), ("POST", "/languages"), ("PUT", "/suggest")):
        found = client.request(method, path)
        assert (found.status_code, found.json()) == (405, {"error": "Method Not Allowed"})


def test_a_busy_service_says_when_to_come_back(client: TestClient, service: Phrases):
    service.failures = [OverloadedError("the queue is full", retry_after=2.6), TooSlowError("too slow")]
    found = client.post("/translate", json={"q": "hello", "source": "en", "target": "vi"})
    assert (found.status_code, found.headers["retry-after"]) == (429, "3")
    assert found.json() == {"error": "Slowdown: the queue is full"}
    assert asked(client, q="hello") == (504, {"error": "too slow"})


def test_languages_are_listed_with_their_targets(client: TestClient):
    found = client.request(
        "GET", "/languages", content=b"", headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert found.json()[1] == {"code": "en", "name": "English", "targets": ["de", "en", "pt", "vi"]}
    assert [one["code"] for one in found.json()] == ["de", "en", "pt", "vi"], "clients choose targets among these"


def test_languages_are_detected_best_first(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    found = client.post("/detect", data={"q": "thế giới"}).json()
    assert found[0]["language"] == "vi" and found[0]["confidence"] > found[1]["confidence"]
    assert client.post("/detect", json={"q": ["hello", "world"]}).json()[0]["language"] == "en"
    assert client.post("/detect", json={"q": "..."}).json() == [{"confidence": 0.0, "language": "en"}]
    foreign = [Detection("fr", 0.9), Detection("en", 0.05)]
    with monkeypatch.context() as patched:
        patched.setattr(Phrases, "detect", lambda _, text: foreign)
        assert client.post("/detect", data={"q": "bonjour"}).json() == [{"confidence": 5.0, "language": "en"}]
        refused = client.post("/translate", data={"q": "bonjour", "source": "auto", "target": "vi"})
        assert (
            refused.status_code == 400 and "not available as a target language from French" in refused.json()["error"]
        )
    assert client.post("/detect").json() == {"error": "Invalid request: missing q parameter"}


def test_a_file_is_translated_and_fetched(client: TestClient):
    text = b"Hello\r\n\r\nI love cats. Good morning\n"
    found = client.post(
        "/translate_file", files={"file": ("a b.txt", text)}, data={"source": "auto", "target": "vi"}
    ).json()
    assert found["translatedFileUrl"].startswith("http://testserver/download_file/")
    fetched = client.get(found["translatedFileUrl"])
    assert fetched.content.decode() == "xin chào\r\n\r\nTôi yêu mèo. buổi sáng tốt\n"
    assert 'filename="a_b.txt"' in fetched.headers["content-disposition"]
    page = {"file": ("x.HTML", b"<p>red <b>house</b></p>")}
    url = client.post("/translate_file", files=page, data={"source": "en", "target": "vi"}).json()["translatedFileUrl"]
    assert client.get(url).content.decode() == "<p><b>nhà</b> đỏ</p>"


@pytest.mark.parametrize(
    ("file", "fields", "words"),
    [
        (None, {}, "Invalid request: missing file parameter"),
        (("a.txt", b""), {}, "Invalid request: empty file"),
        (("a.exe", b"x"), {}, "Invalid request: file format not supported"),
        (("a.txt", b"caf\xe9"), {}, "a.txt is not UTF-8; convert it first, for example with iconv"),
        (("a.txt", b"x"), {"target": ""}, "Invalid request: missing target parameter"),
    ],
)
def test_files_are_refused_in_the_same_shape(client: TestClient, file: Any, fields: Any, words: str):
    sent = {"file": file} if file else {"x": ("y", b"")}
    found = client.post("/translate_file", files=sent, data={"source": "en", "target": "vi", **fields})
    assert (found.status_code, found.json()) == (400, {"error": words})


def test_a_file_that_does_not_wait_is_not_found(client: TestClient):
    assert client.get("/download_file/x.txt").status_code == 404
    assert client.get("/download_file/..%2f..%2fetc%2fpasswd").status_code == 404


def test_suggestions_are_refused_and_settings_told(client: TestClient):
    found = client.post("/suggest", data={"q": "a", "s": "b", "source": "en", "target": "vi"})
    assert (found.status_code, found.json()) == (403, {"error": "Suggestions are disabled on this server."})
    settings = client.get("/frontend/settings").json()
    assert settings["language"]["source"] == {"code": "auto", "name": "Auto Detect"}
    assert (settings["charLimit"], settings["keyRequired"], settings["suggestions"]) == (200, False, False)
    assert ".txt" in settings["supportedFilesFormat"]


def test_keys_are_asked_for_counted_and_given_back(service: Phrases):
    keys = Keys(open_store(MEMORY))
    key = keys.add("mine", quota=12)
    gate = KeyGate(keys)
    with TestClient(create_app(service, SETTINGS, routers=[LibreTranslate().router()], gate=gate)) as client:
        assert asked(client, q="hello") == (400, {"error": "Please contact the server operator to get an API key"})
        assert asked(client, q="hello", api_key="x") == (403, {"error": "Invalid API key"})
        service.failures = [OverloadedError("full")]
        assert asked(client, q="hello world", api_key=key)[0] == 429
        assert asked(client, q="red house", api_key=key) == {"translatedText": "nhà đỏ"}
        status, body = asked(client, q="hello", api_key=key)
        assert status == 429 and body["error"].startswith("Slowdown: ") and "12 characters" in body["error"]
        assert client.post("/detect", data={"q": "hello", "api_key": key}).status_code == 200
        assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_a_file_for_which_there_is_no_room_is_not_counted(service: Phrases, monkeypatch: pytest.MonkeyPatch):
    keys = Keys(open_store(MEMORY))
    key = keys.add("mine")
    text = b"red house\n" * 9
    with TestClient(create_app(service, SETTINGS, routers=[LibreTranslate().router()], gate=KeyGate(keys))) as client:
        for room, asked in (
            (len(text) - 1, False),
            (len(text), True),
        ):  # too little for the file, or for its translation
            monkeypatch.setattr(files, "KEEP_BYTES", room)
            form = {"source": "en", "target": "vi", "api_key": key}
            refused = client.post("/translate_file", files={"file": ("a.txt", text)}, data=form)
            assert refused.status_code == 429 and "wait to be fetched" in refused.json()["error"]
            assert (bool(service.calls), keys.all()[0].characters) == (asked, 0)


def test_a_file_is_opened_only_for_a_key_that_is_known(service: Phrases):
    opened = []

    def reader(content: bytes, name: str, target: str = "") -> Upload:
        assert target == "vi"
        opened.append(name)
        return READERS[".txt"](content, name)

    keys = Keys(open_store(MEMORY))
    router = LibreTranslate({".txt": reader}).router()
    with TestClient(create_app(service, SETTINGS, routers=[router], gate=KeyGate(keys))) as client:

        def sent(**options: Any) -> Any:
            form = {"source": "en", "target": "vi", **options.pop("data", {})}
            return client.post("/translate_file", files={"file": ("a.txt", b"red house\n")}, data=form, **options)

        refused = [
            sent(),
            sent(data={"api_key": "wrong"}),
            sent(params={"api_key": "wrong"}),
            sent(headers={"Authorization": "Bearer wrong"}),
        ]
        assert opened == []
        assert [(one.status_code, one.json()["error"]) for one in refused] == [
            (400, "Please contact the server operator to get an API key"),
            *[(403, "Invalid API key")] * 3,
        ]
        assert [one.headers.get("connection") for one in refused] == [None, None, "close", "close"]
        assert sent(data={"api_key": keys.add("mine")}).status_code == 200
        assert sent(headers={"Authorization": f"Bearer {keys.add('other')}"}).status_code == 200
    assert opened == ["a.txt"] * 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", {"q": "hello", "source": "en", "target": "vi"}),
        ("/v2/translate", {"text": ["hello"], "source_lang": "EN", "target_lang": "VI"}),
    ],
)
def test_the_log_says_why_a_model_does_not_work(path: str, body: Any, capsys: pytest.CaptureFixture[str]):
    error = ModelError("the model cannot be loaded; the log of the service says why")
    error.__cause__ = OSError("the disk is gone")
    routers = routers_of(open_store(MEMORY))
    client = TestClient(create_app(Phrases(failures=[error]), ServiceSettings(), routers=routers))
    assert client.post(path, json=body).status_code == 500
    shown = capsys.readouterr().err
    assert "the disk is gone" in shown and '"refused": "model_error"' in shown
