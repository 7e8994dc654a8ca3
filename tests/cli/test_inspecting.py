"""`dragoman attend` and `align`."""

from pathlib import Path

import pytest
from tests.tiny import MODELS, Trained, dragoman, refusal

BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".html": b"<!DOCTYPE html>"}


@pytest.mark.parametrize("suffix", BEGINNINGS)
def test_attend_draws_in_every_format(trained: Trained, tmp_path: Path, suffix):
    path = tmp_path / f"attention{suffix}"
    found = dragoman("attend", trained("transformer"), "I love cats.", "--target", "Tôi yêu mèo.", "-o", path)
    assert found.code == 0
    assert found.lines == [str(path)]
    assert path.read_bytes().startswith(BEGINNINGS[suffix])


def test_attend_translates_where_no_target_is_given(trained: Trained, tmp_path: Path):
    path = tmp_path / "attention.html"
    found = dragoman("attend", trained("rnn"), "I love cats.", "-o", path)
    (translation,) = dragoman("translate", trained("rnn"), stdin="I love cats.\n").lines
    assert found.errors == f"I love cats.  →  {translation}\n"
    assert "love" in path.read_text(encoding="utf-8")


def test_attend_shows_pieces_where_asked_for(trained: Trained, tmp_path: Path):
    path = tmp_path / "attention.html"
    dragoman("attend", trained("rnn"), "I love cats.", "--target", "Tôi", "--pieces", "-o", path)
    assert "&lt;/s&gt;" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("model", MODELS)
def test_align_links_every_target_word(trained: Trained, tmp_path: Path, model):
    (tmp_path / "a.en").write_text("I love cats.\n\nThis is a book.\n", encoding="utf-8")
    (tmp_path / "a.vi").write_text("Tôi yêu mèo.\n\nĐây là sách.\n", encoding="utf-8")
    found = dragoman("align", trained(model), tmp_path / "a.en", tmp_path / "a.vi").lines
    targets = [sorted(int(link.split("-")[1]) for link in line.split()) for line in found]
    assert targets == [[0, 1, 2], [], [0, 1, 2]]
    last = dragoman("align", trained(model), tmp_path / "a.en", tmp_path / "a.vi", "--layer", 1, "--head", 1)
    assert last.code == 0 and len(last.lines) == 3


def test_a_layer_that_is_not_there_is_refused(trained: Trained, tmp_path: Path):
    (tmp_path / "a").write_text("cats\n", encoding="utf-8")
    sentence = refusal("align", trained("transformer"), tmp_path / "a", tmp_path / "a", "--layer", 3)
    assert sentence == "there is no layer 3; this model has 2, counted from 1"


@pytest.mark.parametrize("sentence", ["", "  ", "\u200b"])
def test_an_empty_sentence_is_refused(trained: Trained, tmp_path: Path, sentence):
    assert "is empty" in refusal("attend", trained("rnn"), sentence, "-o", tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused(trained: Trained, tmp_path: Path):
    sentence = refusal("attend", trained("rnn"), "cats", "-o", tmp_path / "a.gif")
    assert "ends in `.gif`, but pictures are written as .png, .svg or .html" in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(trained: Trained, tmp_path: Path):
    path = tmp_path / "none" / "a.html"
    assert f"{path} cannot be written" in refusal("attend", trained("rnn"), "cats", "--target", "mèo", "-o", path)


def test_a_run_without_attention_is_refused(trained: Trained, tmp_path: Path):
    run = trained("rnn", "model.decoder=plain", "training.steps=1")
    sentence = refusal("attend", run, "cats", "--target", "mèo", "-o", tmp_path / "a.png")
    assert sentence == "this model has no attention over the source; choose a run whose model has one"
