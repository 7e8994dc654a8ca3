"""Texts are checked where they come in."""

import pytest

from dragoman.errors import InputError
from dragoman.text.given import given_texts


@pytest.mark.parametrize("texts", [["a", ""], ("a", ""), iter(["a", ""]), {"a": 1, "": 2}])
def test_any_collection_of_texts_will_do(texts):
    assert given_texts(texts, count=2) == ["a", ""]


@pytest.mark.parametrize("text", ["I love cats.", b"I love cats."])
def test_one_text_is_not_taken_for_a_list_of_letters(text):
    with pytest.raises(InputError, match=r"'I love cats.' is one text .* write \[b?'I love cats.'\]"):
        given_texts(text)


@pytest.mark.parametrize("text", [None, 3, b"a", float("nan")])
def test_what_is_not_text_is_refused_with_its_number(text):
    with pytest.raises(InputError, match=r"line 8 is .* not text"):
        given_texts(["a", text], "line", first=7)


def test_nothing_is_not_a_list():
    with pytest.raises(InputError, match="None is not a list of texts"):
        given_texts(None)  # type: ignore[arg-type]


def test_each_sentence_needs_its_own():
    with pytest.raises(InputError, match="a translation of its own, but there are 1 for 2"):
        given_texts(["a"], "translation", count=2)
