"""`dragoman demo`, made small."""

import json
import signal
from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, refusal

from dragoman.cli import demo

SMALL = [
    "data.train=[{phrasebook: train, pairs: 300}]",
    "data.dev=[{phrasebook: dev, pairs: 10}]",
    "data.test=[{phrasebook: test, pairs: 10}, {phrasebook: compositional, pairs: 10}]",
    "text.size=300",
    "model.embedding=16",
    "model.hidden=32",
    "training.steps=4",
    "training.minutes=null",
    "training.precision=float32",
    "training.threads=1",
    "decoding={beam: 2, maximum_extra: 5, minimum_length: 2}",
]
OPTIONS = [word for setting in SMALL for word in ("--set", setting)]


def test_the_demo_leaves_a_report(tmp_path: Path):
    folder = tmp_path / "demo"
    found = dragoman("demo", *OPTIONS, "--out", folder)
    assert found.code == 0
    numbers = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert list(numbers) == ["test", "compositional", "seconds"]
    for name in ("test", "compositional"):
        assert {"bleu", "alignment_error_rate"} <= set(numbers[name])
        assert 0 <= numbers[name]["alignment_error_rate"] <= 1
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "I love cats." in page and "dragoman translate runs/mine" in page
    assert found.lines[-1] == f"Report: {folder / 'report.html'}"
    assert any(line.startswith("compositional ") and "BLEU" in line and "AER" in line for line in found.lines)
    assert "This is a book." in found.output
    assert "dev BLEU" in found.errors and "dev BLEU" not in found.output
    again = dragoman("demo", *OPTIONS, "--language", "fr", "--out", folder)
    assert again.code == 0
    assert (folder / "report.html").read_text(encoding="utf-8").count("en to fr")


def test_a_demo_without_attention_has_no_alignments(tmp_path: Path):
    found = dragoman(
        "demo", *OPTIONS, "--set", "model.decoder=plain", "--set", "model.score=additive", "--out", tmp_path / "demo"
    )
    assert found.code == 0
    numbers = json.loads((tmp_path / "demo" / "report.json").read_text(encoding="utf-8"))
    assert "bleu" in numbers["test"] and "alignment_error_rate" not in numbers["test"]


@pytest.mark.parametrize(("stopped_by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_demo_says_so(stopped_by: signal.Signals, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.jobs.demo.run_demo", lambda *_, **__: stopped_by)
    found = dragoman("demo", *OPTIONS, "--out", tmp_path / "demo")
    assert (found.code, found.output) == (code, "")
    assert "`dragoman demo` starts over" in found.errors


def test_a_folder_that_holds_something_else_is_left_alone(trained: Trained, tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear", encoding="utf-8")
    sentence = refusal("demo", *OPTIONS, "--out", tmp_path / "mine")
    assert sentence == f"{tmp_path / 'mine'} contains something that is not a demo; choose another folder with --out"
    assert (tmp_path / "mine" / "letter.txt").read_text(encoding="utf-8") == "dear"


def test_the_demo_translates_from_english(tmp_path: Path):
    turned = ("--set", "data.source=vi", "--set", "data.target=en")
    sentence = refusal("demo", *OPTIONS, *turned, "--out", tmp_path / "demo")
    assert sentence.startswith("the demo translates from `en`, not from `vi`; use `dragoman train phrasebook-en-vi`")
    assert not (tmp_path / "demo").exists()


def test_the_instructions_name_real_commands_and_settings():
    assert "dragoman train own-files --set data.source=en" in demo.INSTRUCTIONS
