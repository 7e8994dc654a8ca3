"""Bodies become calls, and answers bodies."""

import pytest
from pydantic import ValidationError

from dragoman.inference.translation import UsedTerm
from dragoman.serving.forms import TranslateForm, TranslationForm, translation_table
from dragoman.serving.interface import Alternative, Answer, Call, Detection, Options, Sentence, Token
from dragoman.text.glossary import Entry, Glossary


def test_a_body_becomes_a_call() -> None:
    form = TranslateForm(text="a", target="vi", n_best=2, alignment=True, decoding={"length_penalty": 0.5})
    options = Options(n_best=2, alignment=True, decoding=(("length_penalty", 0.5),))
    assert form.call == Call(("a",), None, "vi", options)
    assert TranslateForm(text=["a", "b"], source="en", target="vi").call == Call(("a", "b"), "en", "vi")
    assert form.details and not TranslateForm(text="a", target="vi").details


def test_a_glossary_is_terms_of_the_call_and_shows_what_became_of_them() -> None:
    form = TranslateForm(text="a", target="vi", glossary={"Red Cross": "Chữ thập đỏ"})
    assert form.call.options.glossary == Glossary((Entry.of("Red Cross", ["Chữ thập đỏ"]),)) and form.details
    several = TranslateForm(text="a", target="vi", glossary={"cats": "mèo | chó"})
    assert several.call.options.glossary == Glossary((Entry.of("cats", ["mèo", "chó"]),))
    answer = Answer("b", "en", "vi", "m", sentences=(Sentence("a", "b", terms=(UsedTerm("a", "b", "forced"),)),))
    table = translation_table(answer, details=form.details, alternatives=False)
    assert table["sentences"][0]["terms"] == ({"source": "a", "target": "b", "state": "forced"},)
    for terms in (
        {"a": "b", " ": "x"},
        {"x": ""},
        {"x": "y|"},
        {"\x1c": "x"},
        {"secret" * 40: "x"},
        {str(one): "x" for one in range(1001)},
    ):
        with pytest.raises(ValidationError, match="glossary") as caught:
            TranslateForm(text="a", target="vi", glossary=terms)
        assert "terms are too many" in str(caught.value) or "or its translation has no words" in str(caught.value)
        assert caught.value.errors()[0]["loc"] == ("glossary",)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="targt"):
        TranslateForm.model_validate({"text": "a", "target": "vi", "targt": "x"})


def test_an_answer_shows_what_was_asked_for() -> None:
    sentence = Sentence("a", "b", tokens=(Token("b", -1.0),), alignment=((0, 0),), confidence=0.5)
    answer = Answer("b", "en", "vi", "m", -1.0, Detection("en", 0.9), (Alternative("c", -2.0),), (sentence,))
    full = translation_table(answer, details=True, alternatives=True)
    assert TranslationForm.model_validate(full).confidence == 0.5
    assert full["detected"] == {"language": "en", "confidence": 0.9} and full["alternatives"][0]["text"] == "c"
    assert full["sentences"][0]["alignment"] == ((0, 0),) and "attention" not in full["sentences"][0]
    assert {"alternatives", "sentences"} & {*translation_table(answer, details=False, alternatives=False)} == set()
