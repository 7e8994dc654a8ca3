"""The report holds what it is given, escaped, and leaves out what it is not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import InputError
from dragoman.inspection.picture import AttentionPicture
from dragoman.inspection.report import Report, Sample, Score, write_report

SIGNATURE = "nrefs:1|case:mixed"
FULL = Report(
    title="Report & <title>",
    summary="What was done <here>",
    facts={"Sentence pairs": "20,000", "Device <x>": "CPU & more"},
    scores={
        "test": [
            Score("BLEU", 41.26, note="0 to 100, higher is better", signature=SIGNATURE),
            Score("AER", 0.1234, note="0 to 1, lower is better", decimals=3),
        ],
        "compositional <test>": [Score("BLEU", 38.0, note="0 to 100, higher is better", signature=SIGNATURE)],
    },
    records=[{"step": 1, "loss": 3.0, "dev_bleu": 1.0}, {"step": 2, "loss": 2.0, "dev_bleu": 20.0}],
    pictures=[AttentionPicture(["<the>", "cat"], ["mèo"], [[[[0.5, 0.5]]]])] * 2,
    samples=[Sample("a <cat>", "con mèo", "con mèo"), Sample("a & b", "một & hai", "<hai>"), Sample("a bee", "")],
    settings="model:\n  kind: rnn  # <small>\n",
    instructions="dragoman train <recipe> && echo done",
)
ReadPage = Callable[[str], Any]


@pytest.fixture
def page(tmp_path: Path, read_page: ReadPage) -> Any:
    """The full report, read back."""
    write_report(FULL, tmp_path / "report.html")
    return read_page((tmp_path / "report.html").read_text(encoding="utf-8"))


def test_title_summary_and_facts_come_first(page: Any) -> None:
    assert page.words("title") == page.words("h1") == ["Report & <title>"]
    assert "What was done <here>" in page.words("p")
    assert page.words("dt")[:2] == ["Sentence pairs", "Device <x>"]
    assert page.words("dd")[:2] == ["20,000", "CPU & more"]


def test_every_part_has_a_heading(page: Any) -> None:
    assert page.words("h2") == [
        "Scores",
        "Training",
        "Attention",
        "Translations",
        "Train on your own files",
        "Settings",
    ]


def test_scores_have_a_row_for_each_test_set_and_a_column_for_each_metric(page: Any) -> None:
    assert [text.strip() for text in page.within("thead/tr/th")][:3] == ["Test set", "BLEU", "AER"]
    assert page.words("small") == ["0 to 100, higher is better", "0 to 1, lower is better"]
    assert page.within("tbody/tr/th") == ["test", "compositional <test>"]
    assert page.within("tbody/tr/td")[:4] == ["41.3", "0.123", "38.0", "–"]


def test_every_signature_is_shown_once(page: Any) -> None:
    assert page.words("dd").count(SIGNATURE) == 1


def test_the_curves_stand_in_the_page(page: Any) -> None:
    labels = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    assert labels == [
        "Loss per token by step: training from 3 to 2",
        "BLEU, development by step: BLEU from 1 to 20",
    ]


def test_the_attention_of_each_sentence_stands_in_the_page(page: Any) -> None:
    assert page.within("th/span/bdi") == ["<the>", "cat"] * 2
    assert page.words("option") == ["1. <the> cat", "2. <the> cat"]


def test_translations_stand_beside_source_and_reference(page: Any) -> None:
    assert page.within("td/bdi") == ["a <cat>", "con mèo", "con mèo", "a & b", "một & hai", "<hai>", "a bee"]


def test_a_translation_that_equals_its_reference_is_marked(page: Any) -> None:
    assert page.words("span").count("✓ same") == 1
    assert page.words("span").count("no reference") == 1


def test_settings_and_instructions_are_shown_as_they_are(page: Any) -> None:
    assert page.words("pre") == ["dragoman train <recipe> && echo done", "model:\n  kind: rnn  # <small>\n"]


def test_the_report_loads_nothing(page: Any, tmp_path: Path) -> None:
    content = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "https://" not in content
    assert content.count("http://") == content.count('xmlns="http://www.w3.org/2000/svg"')
    assert not [name for _, attributes in page.tags for name in attributes if name in ("src", "href")]


def test_empty_parts_are_left_out(tmp_path: Path, read_page: ReadPage) -> None:
    write_report(Report(title="Bare", summary="Nothing"), tmp_path / "report.html")
    page = read_page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.words("h2") == []
    assert page.words("p") == ["Nothing"]


def test_a_report_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_report(FULL, tmp_path / "nowhere" / "report.html")
