"""The language of a text is one of those served."""

import pytest

from dragoman.serving import detection
from dragoman.serving.detection import SURE, Detector, fitting
from dragoman.serving.interface import Detection, ServiceError


def test_only_served_languages_are_found() -> None:
    pytest.importorskip("py3langid")
    detector = Detector(["en", "vie_Latn"])
    best, other = detector.detect("Tôi yêu con mèo của tôi.")
    assert best.language == "vie_Latn" and other.language == "en"
    assert 0.9 < best.confidence <= 1 and best.confidence + other.confidence <= 1.001
    assert detector.detect("I love my cat and my dog.")[0].language == "en"
    assert Detector(["xx", "yy"]).sources == ("xx", "yy")
    with pytest.raises(ServiceError, match="name the source"):
        Detector(["xx", "yy"]).detect("hello")


def test_text_without_letters_is_in_no_language() -> None:
    assert Detector(["en", "vi"]).detect("😀 42!") == []


def test_a_single_language_is_taken_for_granted_where_one_cannot_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "find_spec", lambda name: None)
    assert Detector(["en"], ["vi"]).detect("hello") == [Detection("en", 1.0)]
    with pytest.raises(ServiceError, match="pip install"):
        Detector(["en", "vi"]).detect("hello")


@pytest.mark.parametrize("sources", [["en"], ["en", "de"]])
def test_a_sentence_in_another_language_is_told_from_those_expected(sources: list[str]) -> None:
    pytest.importorskip("py3langid")
    detector = Detector(sources, ["vi"])
    assert detector.detect("Tôi yêu con mèo của tôi.")[0].language == "vi"
    foreign, *served = detector.detect("Je voudrais savoir où se trouve la gare la plus proche.")
    assert foreign.language == "fr" and foreign.confidence > SURE
    assert {one.language for one in served} == {*sources, "vi"} and all(one.confidence < 0.01 for one in served)
    assert fitting([foreign, *served], sources) == []


def test_a_word_or_a_name_is_taken_to_be_in_the_language_expected() -> None:
    pytest.importorskip("py3langid")
    detector = Detector(["en"], ["fr"])
    for text in ("Hello", "Bonjour", "SELECT * FROM t", "Jean-Luc Picard", "https://example.org/?a=b"):
        assert detector.detect(text)[0].language == "en", text


def test_where_a_source_cannot_be_identified_no_text_is_said_to_be_foreign() -> None:
    pytest.importorskip("py3langid")
    vietnamese = "Tôi yêu con mèo của tôi."
    assert Detector(["xx"], ["vi"]).detect(vietnamese) == [Detection("xx", 1.0)]
    assert [one.language for one in Detector(["en", "xx"], ["vi"]).detect(vietnamese)] == ["en"]


@pytest.mark.parametrize(
    ("code", "text"), [("pb", "Eu gosto muito do meu gato e da minha casa."), ("zt", "我喜歡我的貓和我的房子")]
)
def test_other_codes_of_a_language_are_known(code: str, text: str) -> None:
    pytest.importorskip("py3langid")
    assert Detector(["en", code]).detect(text)[0].language == code
