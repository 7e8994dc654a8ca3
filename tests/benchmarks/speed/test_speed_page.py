"""The page's numbers are those of the records, it says what was skipped, and a part without records keeps its section."""

import doctest
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.speed import __main__ as program
from benchmarks.speed import own_training, page, quality_page, records, statistics
from benchmarks.speed.page import write_page
from benchmarks.speed.parts import growth, recurrent, startup, train
from benchmarks.speed.records import Records

ABOUT = {"machine": "a machine", "threads": 2, "commit": "abc", "python": "3.11", "torch": "2.13", "time": "today"}
PLAN = {
    "count": 3,
    "corpus": "some pairs",
    "model": {**train.MODEL, "vocabulary": 8000},
    "batches": 10,
    "padding": 0.024,
    "target_tokens": 4000.0,
}


def trained(folder: Path) -> Records:
    """Write the records of three rounds of training: a peer is twice as slow as Dragoman, and another will not load."""
    found = Records(folder, "train", "key")
    found.add("about", **ABOUT)
    found.add("plan", **PLAN)
    for name, title, seconds in (("dragoman-float32", "Dragoman, fp32", 1.0), ("slow", "Slow", 2.0)):
        found.add("loaded", contestant=name, title=title, note="how", parameters=7_600_000, versions={"torch": "2.13"})
        for number in range(3):
            drift = number + 1.0
            numbers = {"source": 1500, "target": 1500, "flops": 6e9, "memory": 500_000_000}
            rates = {"float32": 12e9 / drift, "bfloat16": 1.0}
            found.add("turn", contestant=name, round=number, seconds=seconds * drift, calibration=rates, **numbers)
    found.add("skipped", contestant="bad", title="Bad", reason="it would not install: no | package in /usr/lib/x")
    return found


def written(folder: Path, *parts: Any) -> str:
    """Write the page, and return it."""
    write_page(
        folder / "page.md", folder, {part.__name__.rpartition(".")[2]: (part.TITLE, part.section) for part in parts}
    )
    return (folder / "page.md").read_text(encoding="utf-8")


def row(text: str, title: str) -> list[str]:
    """Return the cells of a row."""
    line = next(line for line in text.split("\n") if line.startswith(f"| {title} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("module", [page, records, statistics, own_training, quality_page])
def test_examples_are_right(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def test_ratios_are_taken_round_by_round_and_mfu_beside_the_calibration(tmp_path: Path) -> None:
    trained(tmp_path)
    text = written(tmp_path, train)
    title, speed, own, fastest, mfu, used, weights, _ = row(text, "Slow")
    assert (title, speed) == ("Slow", "750 (625-1,125)")
    assert own == "0.50 (0.50-0.50)" and fastest == "1.00 (1.00-1.00)"
    assert mfu == "0.25 (0.25-0.25)" and used == "500" and weights == "7.60 M"
    assert row(text, "Dragoman, fp32")[3] == "2.00 (2.00-2.00)"
    assert "in 10 batches of like lengths with 2.4% padding" in text
    assert "- Bad was skipped: it would not install: no / package in x" in text
    assert "a machine, 2 threads. Commit abc" in text and "torch 2.13" in text


def test_the_newest_turn_of_a_round_counts(tmp_path: Path) -> None:
    found = trained(tmp_path)
    newest = {**found.all("turn", contestant="slow", round=2)[0], "seconds": 0.5}
    found.add("turn", **{name: value for name, value in newest.items() if name not in ("part", "key", "what")})
    assert row(written(tmp_path, train), "Slow")[1] == "1,500 (1,125-3,750)"


def test_turns_of_different_sittings_are_not_compared(tmp_path: Path) -> None:
    found = trained(tmp_path)
    for turn in found.all("turn", contestant="slow"):
        newer = {**turn, "sitting": 2}
        found.add("turn", **{name: value for name, value in newer.items() if name not in ("part", "key", "what")})
    text = written(tmp_path, train)
    assert row(text, "Slow")[1:4] == ["750 (625-1,125)", "-", "1.00 (1.00-1.00)"]
    assert row(text, "Dragoman, fp32")[3] == "-" and "of the same round of the same session" in " ".join(text.split())


def test_a_part_without_records_keeps_the_section_it_had(tmp_path: Path) -> None:
    found = trained(tmp_path)
    before = written(tmp_path, train)
    found.path.rename(tmp_path / "away")
    starts = Records(tmp_path, "startup", "key")
    starts.add("about", **ABOUT)
    for number in range(4):
        starts.add("turn", contestant="help", title="help", round=number, seconds=0.25 * number)
    after = written(tmp_path, train, startup)
    assert after.startswith(before.rstrip("\n"))
    assert row(after, "help")[1:] == ["0.38 (0.19-0.56)", "0.75", "4", "0.3"]
    assert written(tmp_path, train, startup) == after


def test_only_the_newest_run_is_shown(tmp_path: Path) -> None:
    trained(tmp_path)
    other = Records(tmp_path, "train", "other")
    other.add("about", **ABOUT)
    other.add("skipped", contestant="slow", title="Slow", reason="it broke")
    text = written(tmp_path, train)
    assert "Nothing was measured." in text and "- Slow was skipped: it broke" in text and "| Slow |" not in text


def test_both_sizes_of_the_recurrent_model_have_a_table(tmp_path: Path) -> None:
    found = Records(tmp_path, "recurrent", "key")
    found.add("about", **ABOUT)
    for size in recurrent.SIZES:
        model = {"vocabulary": 8000, **size.model}
        found.add("plan", size=size.name, title=size.title, count=5, model=model, batch=size.batch, corpus="pairs")
        for name, seconds in ((f"{size.name}-textbook-once-all", 3.0), (f"{size.name}-dragoman-float32", 1.0)):
            found.add("loaded", contestant=name, title=name, note="", threads=1)
            found.add("turn", contestant=name, round=0, size=size.name, target=600, seconds=seconds, memory=None)
    text = written(tmp_path, recurrent)
    assert row(text, "toy-dragoman-float32")[1:4] == ["600 (600-600)", "3.00 (3.00-3.00)", "3.00 (3.00-3.00)"]
    assert row(text, "large-textbook-once-all")[2] == "1.00 (1.00-1.00)"


def test_what_is_expected_of_a_size_follows_its_work(tmp_path: Path) -> None:
    found = Records(tmp_path, "growth", "key")
    found.add("about", **ABOUT)
    for value, seconds in ((8, 1.5), (16, 2.0)):
        numbers = {"seconds": seconds, "flops": value * 1e9, "tokens": 1000, "memory": 10**8}
        found.add("turn", axis="length", value=value, round=0, calibration={"float32": 1e9}, **numbers)
    text = written(tmp_path, growth)
    assert row(text, "8") == ["8", "1.5", "1", "1.50", "1,500.0", "100"]
    assert (tmp_path / "page" / "growth.png").exists() and "(page/growth.png)" in text


def test_a_folder_without_the_corpus_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--quick", "--part", "train", "--data", str(tmp_path), "--work", str(tmp_path)]
    assert program.main(options) == 2
    assert "--data must name a folder with train.en.gz and train.fr.gz" in capsys.readouterr().err


def test_the_page_alone_can_be_written_anew(tmp_path: Path) -> None:
    trained(tmp_path)
    page = tmp_path / "docs" / "benchmarks.md"
    assert program.main(["--only-page", "--out", str(tmp_path), "--page", str(page)]) == 0
    assert "| Slow |" in page.read_text(encoding="utf-8")
    assert json.loads((tmp_path / "train.jsonl").read_text(encoding="utf-8").split("\n")[0])["what"] == "about"
