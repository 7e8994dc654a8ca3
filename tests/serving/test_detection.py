"""The language of a text is one of those served."""

import pytest

from dragoman.serving import detection
from dragoman.serving.detection import Detector
from dragoman.serving.interface import Detection, ServiceError


def test_only_served_languages_are_found() -> None:
    pytest.importorskip("py3langid")
    detector = Detector(["en", "vie_Latn"])
    best, other = detector.detect("Tôi yêu con mèo của tôi.")
    assert best.language == "vie_Latn" and other.language == "en"
    assert 0.9 < best.confidence <= 1 and best.confidence + other.confidence <= 1.001
    assert detector.detect("I love my cat and my dog.")[0].language == "en"
    assert Detector(["xx", "yy"]).languages == ("xx", "yy")
    with pytest.raises(ServiceError, match="name the source"):
        Detector(["xx", "yy"]).detect("hello")


def test_text_without_letters_is_in_no_language() -> None:
    assert Detector(["en", "vi"]).detect("😀 42!") == []


def test_a_single_language_needs_no_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "find_spec", lambda name: None)
    assert Detector(["en"]).detect("hello") == [Detection("en", 1.0)]
    with pytest.raises(ServiceError, match="pip install"):
        Detector(["en", "vi"]).detect("hello")


@pytest.mark.parametrize(
    ("code", "text"), [("pb", "Eu gosto muito do meu gato e da minha casa."), ("zt", "我喜歡我的貓和我的房子")]
)
def test_other_codes_of_a_language_are_known(code: str, text: str) -> None:
    pytest.importorskip("py3langid")
    assert Detector(["en", code]).detect(text)[0].language == code
