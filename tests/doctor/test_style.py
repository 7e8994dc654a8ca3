"""Tokenised and cased text beside raw text."""

import pytest
from tests.doctor.conftest import Examined, Pairs, good

from dragoman.doctor.chunk import Side
from dragoman.doctor.style import Style


def tokenised(pairs: Pairs) -> list[tuple[str, str]]:
    """Put spaces before full stops and commas."""
    return [tuple(text.replace(".", " .").replace(",", " ,") for text in pair) for pair in pairs]  # type: ignore[misc]


def lowered(pairs: Pairs) -> list[tuple[str, str]]:
    """Write everything in lower case."""
    return [(source.lower(), target.lower()) for source, target in pairs]


@pytest.mark.parametrize(("change", "words"), [(tokenised, "is tokenised, "), (lowered, "in lower case, but ")])
def test_a_dev_corpus_in_another_style_is_found(change: object, words: str, examined: Examined) -> None:
    found = examined(good(400), change(good(300, first=5000)))  # type: ignore[operator]
    assert [(one.name, one.severity, one.file[-7:]) for one in found] == [
        ("other-style", "warning", "dev.one"),
        ("other-style", "warning", "dev.two"),
    ]
    assert words in found[0].what and "train.one is not tokenised, with capitals" in found[0].what


def test_one_style_is_fine(examined: Examined) -> None:
    assert examined(tokenised(good(400)), tokenised(good(300, first=5000))) == []


def test_parts_of_a_corpus_in_another_style_are_found(examined: Examined) -> None:
    found = examined([*good(5000), *tokenised(good(5000, first=5000))])
    assert [(one.name, one.line) for one in found] == [("mixed-style", 4097), ("mixed-style", 4097)]
    assert found[0].what.startswith("is tokenised, with") and "while its beginning is not tokenised" in found[0].what


def test_a_style_is_counted() -> None:
    raw = Style.of(Side(["Yes, it is.", '"No, it is not."', "So it is."] * 60))
    assert (
        raw.tokenised == 0.0
        and raw.cased == 1.0
        and raw.words() == "not tokenised, with capitals at the starts of lines"
    )
    true = Style.of(Side(["yes , Tom is Anna .", "no . not Bob ."] * 60))
    assert true.tokenised == 1.0 and true.cased == 0.0 and true.words() == "tokenised, truecased"
    assert raw.unlike(true) and not raw.unlike(raw + raw)
    few = Style.of(Side(["ab ."]))
    assert few.tokenised is None and few.cased is None and few.words() == "" and not few.unlike(raw)
