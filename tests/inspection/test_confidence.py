"""The page of assessed translations says of every sentence and word how sure it is, as colour, mark and number."""

import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from dragoman.inspection.confidence import AssessedSentence, ConfidencePage, ShownAlarm, confidence_page

HOSTILE = "</script><script>alert(1)</script>"
ReadPage = Callable[[str], Any]
SENTENCES = (
    AssessedSentence(
        ["In", "1998", "we", "left."], ["We", "left"], 0.2, [0.9, 0.1], [ShownAlarm("number lost", ["1998"], [1])]
    ),
    AssessedSentence([], []),
    AssessedSentence(
        ["A", "<b>&"], [HOSTILE, '"'], 0.614, [0.7, 0.3], [ShownAlarm("omission", ["<i>"], [1])], "<u>old"
    ),
    AssessedSentence(["A", "cat"], [], 0.0, [], [ShownAlarm("too short")]),
    AssessedSentence(["A", "dog"], ["A", "dog"], 1.0, [0.999, 0.75]),
)


def page_of(*sentences: AssessedSentence, **changed: Any) -> str:
    """Return a page."""
    told = {"run": "runs/<x>", "languages": ("en", "vi"), "good": "chrF & more", "error": 0.0314}
    return confidence_page(
        ConfidencePage(sentences=sentences, **(told | {"false_alarms": {"omission": 0.012}} | changed))
    )


@pytest.fixture
def page(read_page: ReadPage) -> Any:
    """A page of five sentences, read back."""
    return read_page(page_of(*SENTENCES))


def test_every_sentence_is_there_in_the_order_of_the_text(page: Any) -> None:
    rows = [attributes for tag, attributes in page.tags if tag == "li"]
    assert [row["id"] for row in rows] == [f"sentence-{number}" for number in range(1, 6)]
    assert [row.get("data-confidence") for row in rows] == ["0.2000", None, "0.6140", "0.0000", "1.0000"]
    assert [row["data-alarms"] for row in rows] == ["number lost", "", "omission", "too short", ""]
    assert page.within("p/span")[-6:] == ["20%", "empty line", "61%", "0%", "no translation", "100%"]
    assert {"empty line", "no translation"} <= set(page.words("span"))


def test_each_word_has_its_level_as_class_and_its_confidence_as_text(page: Any) -> None:
    words = [attributes for tag, attributes in page.tags if tag == "span" and "title" in attributes]
    assert [(word["class"], word["title"]) for word in words] == [
        ("likely", "90%"),
        ("unlikely", "10%"),
        ("fair", "70%"),
        ("doubtful", "30%"),
        ("likely", ">99%"),
        ("likely", "75%"),
    ]
    assert page.within("p/bdi/span") == ["We", "left", HOSTILE, '"', "A", "dog"]
    legend = [attributes["class"] for tag, attributes in page.tags if tag == "span" and "class" in attributes]
    assert legend[:4] == ["likely", "fair", "doubtful", "unlikely"]


def test_levels_differ_without_colour() -> None:
    style = (files("dragoman.inspection") / "confidence.css").read_text(encoding="utf-8")
    for level, line in {"fair": "dotted", "doubtful": "dashed", "unlikely": "wavy"}.items():
        assert re.search(rf"^\.{level} {{[^}}]*{line}", style, re.MULTILINE)


def test_alarms_are_explained_and_their_words_marked_in_the_source(page: Any) -> None:
    marks = [attributes["title"] for tag, attributes in page.tags if tag == "mark" and attributes]
    assert (marks, page.within("p/bdi/mark")) == (["number lost", "omission"], ["1998", "<b>&"])
    assert "Number lost: " in page.words("strong") and "A number of the source is not in the translation." in "".join(
        text for _, text in page.texts
    )
    assert page.within("strong/bdi") == ["1998", "<i>"]
    assert [text for text in page.words("bdi") if text == "<u>old"]


def test_the_summary_counts_sentences_and_alarms(page: Any) -> None:
    assert page.words("dd") == ["5", "45%", "2", "3", "0.031"]
    assert [text.strip() for text in page.within("tbody/tr/th")] == ["Too short", "Number lost", "Omission"]
    assert page.within("tbody/tr/td") == ["1", "–", "1", "–", "1", "1.2%"]
    (spoken,) = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    assert spoken == "Sentences by confidence: 1 of 0 to 10%, 1 of 20 to 30%, 1 of 60 to 70%, 1 of 90 to 100%"
    assert (
        "runs/<x> translated from en to vi" in page.words("p")[0]
        and "good means here: chrF & more" in page.words("p")[0]
    )


def test_what_the_script_serves_is_hidden_without_it_and_all_that_it_seeks_is_there(page: Any) -> None:
    content = page_of(*SENTENCES)
    assert all("hidden" in attributes for _, attributes in page.tags if attributes.get("class") == "controls")
    assert [attributes["name"] for tag, attributes in page.tags if tag == "select"] == ["order", "show"]
    assert page.words("option")[2:] == [
        "all (5)",
        "with an alarm (3)",
        "too short (1)",
        "number lost (1)",
        "omission (1)",
    ]
    script = (files("dragoman.inspection") / "confidence.js").read_text(encoding="utf-8")
    for name in re.findall(r'"section\.(\w+)"|querySelector\("\.(\w+)"\)', script):
        assert f'class="{"".join(name)}"' in content


def test_hostile_words_stay_words_and_nothing_is_loaded(page: Any) -> None:
    assert not {tag for tag, _ in page.tags} & {"b", "i", "u", "x"}
    assert not [code for code in page.code if "alert" in code]
    links = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
    assert links == [f"#sentence-{number}" for number in range(1, 6)]
    content = page_of(*SENTENCES)
    assert content.count("http://") == content.count('xmlns="http://www.w3.org/2000/svg"') and "https://" not in content


def test_a_run_whose_words_have_no_confidence_says_so(read_page: ReadPage) -> None:
    page = read_page(page_of(AssessedSentence(["a"], ["b", "c"], 0.5)))
    assert page.within("p/bdi") == ["a", "b c"]
    assert any("calibrated on judgements" in text for text in page.words("span"))
    assert page.words("option")[2:] == ["all (1)"] and "None was raised." in page.words("p")


def test_a_page_of_nothing_is_a_page(read_page: ReadPage) -> None:
    assert read_page(page_of()).words("dd")[:3] == ["0", "–", "0"]
