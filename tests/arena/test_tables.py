"""The table of an arena as Markdown and as CSV. That it is written is tested in `test_reporting`."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest
from tests.arena.arenas import arena

from dragoman.arena.plan import make_plan
from dragoman.arena.results import Outcome, Row, SystemResult
from dragoman.arena.tables import (
    COLUMNS,
    HEADS,
    cells,
    csv_table,
    explanations,
    markdown,
    powers,
    ranked,
    shown_samples,
)

SOURCES = [f"sentence {number} *" for number in range(10)]
NUMBERS = {"parameters": 1234.0, "flops": 3.1e9, "flops_by_rule": 4e9, "tokens": 1500, "seconds": 2.5, "memory": None}


def result(system: str, bleu: float, **others: Any) -> SystemResult:
    """Return a system that was trained once."""
    numbers = {**NUMBERS, "bleu": bleu, "bleu_low": bleu - 1, "bleu_high": bleu + 1, "chrf": 50.25}
    return SystemResult(system, [Row(system, 1, "done", numbers, [f"{system} {one}" for one in SOURCES])], **others)


@pytest.fixture
def outcome() -> Outcome:
    """Return a made-up comparison: a good system, a bad one, one that failed."""
    good, bad = result("good", 30.0), result("bad|worse", 10.0, p_value=0.001, factor=0.5)
    failed = SystemResult("failed", [Row("failed", 1, "out of memory", {}, [])])
    plan = make_plan(arena("samples=3", "seeds=[1]"))
    return Outcome(plan, [bad, failed, good], list(SOURCES), list(SOURCES), "sacreBLEU")


def test_systems_come_from_the_best_to_the_worst_and_those_without_numbers_last(outcome: Outcome) -> None:
    assert [one.system for one in ranked(outcome)] == ["good", "bad|worse", "failed"]


def test_a_row_says_what_a_system_cost_and_how_good_it_is(outcome: Outcome) -> None:
    found = cells(ranked(outcome)[1], outcome)
    assert set(found) == set(HEADS)
    assert (found["bleu"], found["chrf"], found["factor"]) == ("10.0 [9.0, 11.0]", "50.2", "× 0.5")
    assert (found["parameters"], found["flops"], found["memory"]) == ("1,234", "3.1·10⁹", "–")
    assert found["against"] == "worse, p < 0.01"


def test_the_csv_has_every_column_and_empty_cells_where_nothing_is_known(outcome: Outcome) -> None:
    first, *rows = csv.reader(io.StringIO(csv_table(outcome)))
    assert tuple(first) == COLUMNS
    by_system = {row[0]: dict(zip(first, row, strict=True)) for row in rows}
    assert by_system["good"]["bleu"] == "30.0" and by_system["good"]["status"] == "done"
    assert by_system["good"]["flops_by_rule"] == "4000000000.0" and by_system["good"]["memory"] == ""
    assert by_system["failed"]["bleu"] == "" and by_system["failed"]["status"] == "out of memory"


def test_signs_of_markdown_in_names_and_sentences_are_kept_from_it(outcome: Outcome) -> None:
    text = markdown(outcome)
    assert "| bad\\|worse |" in text and "sentence 0 \\*" in text
    columns = [line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")]
    assert len(columns) == 5 and set(columns) == {len(HEADS) + 1}


def test_samples_are_spread_evenly(outcome: Outcome) -> None:
    assert shown_samples(outcome) == [0, 3, 6]


def test_the_explanations_say_how_the_comparison_was_made(outcome: Outcome) -> None:
    text = "\n".join(explanations(outcome))
    assert "1,500 target tokens" in text and "bootstrap" in text and "sacreBLEU" in text


@pytest.mark.parametrize(
    ("finished", "bracketed", "with_student"), [([1], True, False), ([2, 3], False, True), ([1, 2], True, True)]
)
def test_the_explanations_are_of_the_intervals_that_the_table_has(
    outcome: Outcome, finished: list[int], *, bracketed: bool, with_student: bool
) -> None:
    """An arena of several seeds may have finished one alone."""
    row = result("good", 30.0).rows[0]
    standings = [SystemResult(f"{count} seeds", [row] * count) for count in finished]
    text = "\n".join(explanations(replace(outcome, standings=standings)))
    assert ("in brackets" in text, "Student" in text) == (bracketed, with_student)


@pytest.mark.parametrize(("number", "text"), [(None, "–"), (0.0, "–"), (2.04e-3, "2.0·10⁻³"), (9.99e19, "1.0·10²⁰")])
def test_large_numbers_are_powers_of_ten(number: float | None, text: str) -> None:
    assert powers(number) == text
