"""`dragoman serve` as its users start and stop it."""

import json
import re
import signal
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, process, refusal

from dragoman.inference.translator import Translator

needs_server = pytest.mark.skipif(find_spec("uvicorn") is None, reason="uvicorn is not installed")


@needs_server
def test_a_run_is_served_until_sigterm(trained: Trained, tmp_path: Path) -> None:
    run = trained("rnn")
    (tmp_path / "terms.tsv").write_text("cats\tquyển sách\n", encoding="utf-8")
    options = ("--port", 0, "--device", "cpu", "--set", "engine.cache_mb=1", "--glossary", "terms.tsv")
    served = process("serve", run, *options, folder=tmp_path)
    assert served.stderr is not None
    line = b""
    while b"Serving on" not in line:
        line = served.stderr.readline()
        assert line, "it ended"
    found = re.search(rb"http://127\.0\.0\.1:(\d+)", line)
    assert found is not None
    connection = HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
    texts = ["I love cats.", "The cat sits on the mat."]
    connection.request(
        "POST", "/v1/translate", json.dumps({"text": texts, "target": "vi"}), {"Content-Type": "application/json"}
    )
    answer = json.loads(connection.getresponse().read())
    connection.close()
    own = Translator.load(run, device="cpu", glossary=[tmp_path / "terms.tsv"]).translate(texts)
    assert "quyển sách" in own[0].text
    assert [one["text"] for one in answer["translations"]] == [one.text for one in own]
    served.send_signal(signal.SIGTERM)
    output, errors = served.communicate(timeout=60)
    assert (served.returncode, output) == (0, b"")
    assert b"Traceback" not in errors and b"I love cats" not in errors
    assert b'"event": "request"' in errors


@needs_server
def test_what_cannot_be_served_is_refused(trained: Trained, tmp_path: Path) -> None:
    assert "nothing" in refusal("serve", tmp_path / "nothing")
    assert "max_texts" in refusal("serve", trained("rnn"), "--set", "max_text=3")
    assert "terms.tsv cannot be read" in refusal("serve", trained("rnn"), "--glossary", tmp_path / "terms.tsv")
    assert "--port" in refusal("serve", trained("rnn"), "--host", "192.0.2.1")


@needs_server
def test_a_service_whose_keys_cannot_be_used_does_not_say_that_it_serves(trained: Trained) -> None:
    refused = dragoman("serve", trained("rnn"), "--port", 0, "--keys", __file__)
    assert refused.code == 2 and f"{__file__} cannot be used as a database" in refused.errors
    assert "Serving" not in refused.errors


@needs_server
def test_a_file_of_keys_that_is_not_there_is_named(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.serving.server.run", lambda service, settings, listener, *, keys: listener.close())
    place = tmp_path / "keys.sqlite"
    missing, there = (dragoman("serve", trained("rnn"), "--port", 0, "--keys", place) for _ in range(2))
    assert f"There is no file {place} yet" in missing.errors and f"dragoman keys add {place} NAME" in missing.errors
    assert there.code == 0 and "There is no file" not in there.errors


def test_missing_packages_are_named_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import dragoman.cli.serve

    monkeypatch.setattr(dragoman.cli.serve, "find_spec", lambda name: None)
    refused = refusal("serve", "run")
    assert 'pip install "dragoman[serve]"' in refused and "fastapi, uvicorn, python-multipart" in refused


def test_help_says_what_it_does() -> None:
    found = dragoman("serve", "--help")
    assert found.code == 0 and "HTTP" in found.output
