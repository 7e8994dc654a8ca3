"""Pages about Dragoman alone: where a step's time goes, and what a student loses and gains."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.speed.parts import profile, student
from benchmarks.speed.peers.profiling import COUNTED, OPTIMISER, OTHER, kind_of
from benchmarks.speed.records import Records
from tests.benchmarks.speed.test_speed_page import ABOUT, row, written

from dragoman.native.compilation import DECODING, RECURRENCE, Part


def event(name: str, parent: Any = None) -> Any:
    return SimpleNamespace(name=name, cpu_parent=parent)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("aten::addmm", "matrix products"), ("aten::copy_", "copies and casts"), ("aten::mul", OTHER)],
)
def test_an_operation_is_of_the_kind_that_its_name_says(name: str, kind: str) -> None:
    assert kind_of(event(name)) == kind


@pytest.mark.parametrize("part", [RECURRENCE, DECODING], ids=lambda part: part.name)
def test_every_operation_in_cpp_is_counted_and_has_a_kind(part: Part) -> None:
    names = re.findall(r'library\.def\("(\w+)', part.sources[0].read_text(encoding="utf-8"))
    assert part.operation[1] in names
    for name in names:
        full = f"{part.operation[0]}::{name}"
        assert full.startswith(COUNTED) and kind_of(event(full)) != OTHER, full


def test_all_that_an_optimiser_does_is_its_own() -> None:
    step = event("Optimizer.step#Adam.step")
    assert kind_of(event("aten::addmm", event("aten::linear", step))) == OPTIMISER


def test_shares_are_of_the_time_of_the_step(tmp_path: Path) -> None:
    found = Records(tmp_path, "profile", "key")
    found.add("about", **ABOUT)
    found.add("loaded", contestant="toy-dragoman-float32", title="Dragoman, toy")
    for number, seconds in enumerate((2.0, 4.0, 8.0)):
        kinds = {"matrix products": seconds / 4, OTHER: seconds * 3 / 4}
        numbers = {"steps": 2, "seconds": seconds, "operations": 20, "kinds": kinds}
        found.add("turn", contestant="toy-dragoman-float32", round=number, **numbers)
    found.add("loaded", contestant="translating/small/64", title="small, batch 64")
    numbers = {"steps": 6, "seconds": 3.0, "operations": 60, "kinds": {"attention": 1.5}}
    found.add("turn", contestant="translating/small/64", round=0, **numbers)
    text = written(tmp_path, profile)
    assert "|  | small, batch 64 |" in text and row(text, "attention")[1:] == ["50 %"]
    assert row(text, "milliseconds a batch")[1:] == ["500.0"]
    assert row(text, "matrix products")[1] == "25 %"
    assert row(text, OTHER)[1] == "75 %"
    assert row(text, "milliseconds a step")[1] == "2000.0"
    assert row(text, "operations a step")[1] == "10"


def test_a_student_is_compared_with_its_teacher_in_int8_with_a_beam(tmp_path: Path) -> None:
    found = Records(tmp_path, "student", "key")
    found.add("about", **ABOUT)
    about = {"layers": "3+3", "width": 192, "steps": 1500, "minutes": 9.6, "threads": 1}
    about |= {"megabytes": {"torch": 20.0, "int8": 5.0}}
    found.add("plan", sentences=1000, files=["test.en", "test.fr"], runs={"teacher": about, "student 1": about})
    for name, seconds in (("teacher/int8/5", 4.0), ("student 1/int8/1", 1.0)):
        found.add("loaded", contestant=name, title=name)
        for number in range(2):
            scores = {} if number else {"bleu": 50.5, "chrf": 60.25, "signature": "nrefs:1"}
            times = {"single": [seconds] * 24, "bulk": [seconds] * 3, "memory": 100_000_000}
            found.add("turn", contestant=name, round=number, **times, **scores)
    text = written(tmp_path, student)
    assert "student 1: 3+3 layers, width 192, 1,500 steps in 10 minutes with 1 thread." in text
    cells = row(text, "student 1/int8/1")
    assert cells[1:3] == ["50.50", "60.25"]
    assert cells[3] == "1.0 (4.00 (4.00-4.00))"
    assert cells[4] == "64.0 (4.00 (4.00-4.00))"
    assert cells[5:] == ["5.0", "100"]
