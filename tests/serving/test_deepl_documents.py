"""DeepL's routes for documents: uploaded, asked after, fetched once."""

import time
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.serving.test_deepl import SETTINGS, Phrases

from dragoman.serving.app import create_app
from dragoman.serving.deepl import DeepL
from dragoman.serving.deepl_documents import DeepLDocuments, Waiting
from dragoman.serving.deepl_glossaries import DeepLGlossaries
from dragoman.serving.files import KEEP_BYTES, READERS
from dragoman.serving.gate import KeyGate
from dragoman.serving.glossaries import Glossaries
from dragoman.serving.interface import ModelError, OverloadedError, TooSlowError
from dragoman.serving.keys import Keys
from dragoman.serving.store import MEMORY, open_store


def status(client: TestClient, handle: Any) -> Any:
    for _ in range(200):
        found = client.post(
            f"/v2/document/{handle['document_id']}", data={"document_key": handle["document_key"]}
        ).json()
        if found["status"] in ("done", "error"):
            return found
        time.sleep(0.02)
    return found


def test_documents_are_translated_meanwhile_and_fetched_once():
    service = Phrases()
    router = DeepL(Glossaries(open_store(MEMORY))).router()
    with TestClient(create_app(service, SETTINGS, routers=[router])) as client:
        file = {"file": ("報.txt", b"red house\n")}
        service.failures = [OverloadedError("full", retry_after=0.01)]
        handle = client.post("/v2/document", files=file, data={"target_lang": "VI"}).json()
        assert status(client, handle)["billed_characters"] == 9
        url = f"/v2/document/{handle['document_id']}/result"
        assert client.post(url, json={"document_key": "wrong"}).status_code == 404
        fetched = client.post(url, json=handle)
        assert fetched.content.decode() == "nhà đỏ\n"
        assert fetched.headers["content-disposition"].endswith("filename=\"file.txt\"; filename*=UTF-8''%E5%A0%B1.txt")
        assert client.post(url, json=handle).status_code == 404
        service.failures = [TooSlowError("too slow")]
        failed = client.post("/v2/document", files=file, data={"target_lang": "VI", "source_lang": "EN"}).json()
        assert status(client, failed)["error_message"] == "too slow"
        assert client.post(f"/v2/document/{failed['document_id']}/result", json=failed).status_code == 503
        for files, data, message in (
            ({"file": ("a.exe", b"x")}, {}, "Invalid file data."),
            ({"x": ("a.txt", b"x")}, {}, "Invalid file data."),
            (file, {"source_lang": "VI"}, "Source and target language are equal."),
            (file, {"formality": "more"}, "'formality' is not supported for given 'target_lang'."),
            (file, {"style_id": "x"}, "Value for 'style_id' not supported."),
            (file, {"output_format": "pdf"}, "Value for 'output_format' not supported."),
        ):
            found = client.post("/v2/document", files=files, data={"target_lang": "VI", **data})
            assert (found.status_code, found.json()["message"]) == (400, message)


def test_what_the_service_cannot_do_is_told_and_not_counted(monkeypatch: pytest.MonkeyPatch, capsys: Any):
    service, store = Phrases(), open_store(MEMORY)
    keys = Keys(store)
    mine = {"Authorization": f"DeepL-Auth-Key {keys.add('mine')}"}
    with TestClient(
        create_app(service, SETTINGS, routers=[DeepL(Glossaries(store)).router()], gate=KeyGate(keys))
    ) as client:

        def problem(fault: Exception) -> str:
            service.failures = [fault]
            form = {"target_lang": "VI", "source_lang": "EN"}
            handle = client.post(
                "/v2/document", files={"file": ("a.txt", b"red house\n")}, data=form, headers=mine
            ).json()
            for _ in range(200):
                told = {"document_key": handle["document_key"]}
                found = client.post(f"/v2/document/{handle['document_id']}", data=told, headers=mine).json()
                if found["status"] == "error":
                    return str(found["error_message"])
                time.sleep(0.02)
            raise AssertionError("it was never told")

        def used() -> int:
            return int(client.get("/v2/usage", headers=mine).json()["character_count"])

        before = used()
        assert problem(ModelError("the model is gone")) == "the model is gone"
        assert "the log of the service says where" in problem(IndexError("a bug"))
        assert used() == before
    assert '"kind": "IndexError"' in capsys.readouterr().err


def test_documents_that_nobody_fetches_are_forgotten_and_make_room():
    clock = [0.0]
    documents = DeepLDocuments(DeepLGlossaries(Glossaries(open_store(MEMORY))), now=lambda: clock[0])
    documents.waiting["OLD"] = old = Waiting("key", "owner", "a.txt", 9, 60.0, KEEP_BYTES // 2)
    with pytest.raises(OverloadedError, match="too many documents"):
        documents._make_room(1)
    clock[0] = 61.0
    with pytest.raises(OverloadedError, match="too many documents"):
        documents._make_room(1)  # it is still being translated
    old.content = b"x"
    documents._make_room(1)
    assert documents.waiting == {}


def test_a_document_is_opened_only_for_a_key_that_is_known(monkeypatch: pytest.MonkeyPatch):
    opened = []

    def reader(content: bytes, name: str, target: str = "") -> Any:
        assert target == "vi"
        opened.append(name)
        return READERS[".txt"](content, name)

    keys = Keys(open_store(MEMORY))
    deepl = DeepL(Glossaries(keys.store))
    monkeypatch.setattr(deepl.documents, "readers", {".txt": reader})
    with TestClient(create_app(Phrases(), SETTINGS, routers=[deepl.router()], gate=KeyGate(keys))) as client:

        def sent(**options: Any) -> Any:
            form = {"target_lang": "VI", **options.pop("data", {})}
            return client.post("/v2/document", files={"file": ("a.txt", b"red house\n")}, data=form, **options)

        refused = [
            sent(),
            sent(data={"auth_key": "wrong"}),
            sent(params={"auth_key": "wrong"}),
            sent(headers={"Authorization": "DeepL-Auth-Key wrong"}),
        ]
        assert opened == []
        assert [one.status_code for one in refused] == [403] * 4
        assert all(one.json()["message"] and one.headers["x-trace-id"] for one in refused)
        assert [one.headers.get("connection") for one in refused] == [None, None, "close", "close"]
        key = keys.add("mine")
        assert sent(data={"auth_key": key}).status_code == 200
        assert sent(headers={"Authorization": f"DeepL-Auth-Key {key}"}).status_code == 200
    assert opened == ["a.txt"] * 2
