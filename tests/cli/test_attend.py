"""`dragoman attend`."""

from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, refusal

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


@pytest.mark.parametrize("sentence", ["", "  ", "\u200b"])
def test_an_empty_sentence_is_refused(trained: Trained, tmp_path: Path, sentence):
    assert "is empty" in refusal("attend", trained("rnn"), sentence, "-o", tmp_path / "a.png")
    for pair in ((sentence, "--target", "Tôi"), ("cats", "--target", sentence)):
        assert "is empty" in refusal("attend", trained("rnn"), *pair, "-o", tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused(trained: Trained, tmp_path: Path):
    sentence = refusal("attend", trained("rnn"), "cats", "-o", tmp_path / "a.gif")
    assert "ends in `.gif`, but pictures are written as .png, .svg or .html" in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(trained: Trained, tmp_path: Path):
    path = tmp_path / "none" / "a.html"
    assert f"{path} cannot be written" in refusal("attend", trained("rnn"), "cats", "--target", "mèo", "-o", path)


def test_a_picture_that_cannot_be_written_is_refused_before_the_run_is_loaded(tmp_path: Path):
    for path in (tmp_path / "none" / "a.png", tmp_path / "a.gif", tmp_path):
        assert str(path) in refusal("attend", tmp_path / "run", "cats", "-o", path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_attention_is_refused(trained: Trained, tmp_path: Path):
    run = trained("rnn", "model.decoder=plain", "model.score=additive", "training.steps=1")
    sentence = refusal("attend", run, "cats", "--target", "mèo", "-o", tmp_path / "a.png")
    assert sentence == "this model has no attention over the source; choose a run whose model has one"
