"""Documents are cut into sentences where readers would cut them, or where marks stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalize import normalize
from dragoman.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("He said: “Go.” She went.", ["He said: “Go.”", "She went."]),
        ("(Really?!) Yes.", ["(Really?!)", "Yes."]),
        ("It costs 3.50 today. Cheap.", ["It costs 3.50 today.", "Cheap."]),
        ("Stop! he cried.", ["Stop! he cried."]),
        ("J. Smith and A. B. Jones left. They ran.", ["J. Smith and A. B. Jones left.", "They ran."]),
        ("tokenised text . And more .", ["tokenised text .", "And more ."]),
        ("Ông ấy đến. Ổn không? Ừ.", ["Ông ấy đến.", "Ổn không?", "Ừ."]),
        ("你好。再见！“好吗？”好", ["你好。", "再见！", "“好吗？”", "好"]),
        ("no sign at all", ["no sign at all"]),
        ("one. Still one <eos> two<eos>", ["one. Still one", "two"]),
        (r"one. Still one\ntwo\n\nthree", ["one. Still one", "two", "three"]),
        ("...", ["..."]),
        ("", []),
        (" \u200b <eos> ", []),
    ],
)
def test_sentences_end_at_signs_or_at_marks(text, sentences):
    assert split_sentences(text) == sentences


@given(st.text(alphabet="aB.!? ”)。\\n\u200b\t"))
def test_nothing_but_marks_and_spaces_is_lost(text):
    sentences = split_sentences(text)
    assert all(sentence == normalize(sentence) != "" for sentence in sentences)
    assert "".join("".join(sentences).split()) == "".join(normalize(text).replace("\\n", "").split())
