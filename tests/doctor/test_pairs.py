"""Faults of single pairs and of whole columns."""

from pathlib import Path

import pytest
from tests.doctor.conftest import ENGLISH, Examined, good, sentences

from dragoman.data.findings import Finding


def one(findings: list[Finding], name: str) -> Finding:
    """Return the only finding of a name."""
    (found,) = [finding for finding in findings if finding.name == name]
    return found


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("blank-side", ("", "Une phrase.")),
        ("blank-side", ("A sentence.", " \u00a0")),
        ("blank-pair", ("", "")),
        ("no-letters", ("@@", "Ein Satz mit Wörtern.")),
        ("copy", ("Barack Obama", "Barack Obama")),
    ],
)
def test_a_fault_of_a_pair_is_found(name: str, pair: tuple[str, str], examined: Examined) -> None:
    pairs = good(300)
    pairs[7] = pair
    found = one(examined(pairs), name)
    assert (found.line, found.count, found.severity) == (8, 1, "warning" if name == "no-letters" else "note")
    assert found.examples[0].texts == pair


def test_numbers_and_marks_are_no_copies(examined: Examined) -> None:
    pairs = good(300)
    pairs[7:9] = [("2026", "2026"), ("?", "!")]
    assert examined(pairs) == []


def test_many_blank_sides_and_copies_are_warnings(examined: Examined) -> None:
    pairs = [
        ("", target) if row % 9 == 0 else (source, source if row % 9 == 1 else target)
        for row, (source, target) in enumerate(good(900))
    ]
    found = examined(pairs)
    assert one(found, "blank-side").severity == one(found, "copy").severity == "warning"
    assert one(found, "copy").count == 100


def test_advice_about_dev_is_about_scores_not_about_learning(examined: Examined) -> None:
    train, dev = good(300), good(300, first=5000)
    for pairs in (train, dev):
        pairs[7], pairs[9] = ("Barack Obama", "Barack Obama"), pairs[8]
    found = {
        (one.name, Path(one.file).stem): one.advice for one in examined(train, dev) if one.name in ("copy", "duplicate")
    }
    assert {place for place, advice in found.items() if "scores" in advice} == {("copy", "dev"), ("duplicate", "dev")}
    assert "learns to copy" in found["copy", "train"] and "drop_duplicates" in found["duplicate", "train"]


@pytest.mark.parametrize("header", [("source", "target"), ("en", "fr"), ('"English"', '"French"')])
def test_a_header_is_found(header: tuple[str, str], examined: Examined) -> None:
    found = one(examined([header, *good(300)]), "header")
    assert found.sentence.endswith("train.one, line 1 looks like the names of columns; delete that line")


def test_columns_that_hold_no_sentences_are_found(examined: Examined) -> None:
    english = sentences(ENGLISH, 300)
    numbers = examined([(source, str(row)) for row, source in enumerate(english)])
    assert one(numbers, "wordless").what == "has no letters in most of its lines"
    quoted = examined([(source, f'"{target}"') for source, target in good(300)])
    assert one(quoted, "quoted").file.endswith("train.two")
    labels = examined([("news" if row % 3 else "talks", target) for row, (_, target) in enumerate(good(300))])
    assert one(labels, "few-texts").what == "has only 2 different texts in its first 300 lines, such as 'news'"


def test_text_of_one_language_has_no_faults_of_pairs(examined: Examined) -> None:
    english = sentences(ENGLISH, 300)
    assert examined(list(zip(english, english, strict=True)), languages=("en", "en")) == []
