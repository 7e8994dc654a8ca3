"""What an arena leaves: tables, page, pictures, manifest."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.arena.arenas import arena, worker_of

from dragoman.arena.page import page
from dragoman.arena.plan import make_plan
from dragoman.arena.reporting import manifest, write_outcome
from dragoman.arena.results import Outcome
from dragoman.arena.schedule import Worker
from dragoman.arena.settings import ArenaSettings
from dragoman.arena.tables import markdown
from dragoman.settings import parse

Compared = tuple[Worker, Outcome]


def test_the_csv_has_a_row_for_each_system_and_seed(folder: Path):
    rows = list(csv.DictReader((folder / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["system"], row["seed"]) for row in rows] == [
        (system, seed) for system in ("rnn", "transformer", "both") for seed in "12"
    ]
    names = "system, seed, parameters, flops, tokens, seconds, bleu, bleu_low, bleu_high, chrf, status, flops_by_rule, memory"
    assert list(rows[0]) == names.split(", ")
    for row in rows:
        assert row["status"] == "done"
        assert float(row["bleu_low"]) <= float(row["bleu_high"]) and float(row["flops"]) > 1e6
        assert int(row["tokens"]) >= 1500


def test_an_ensemble_costs_what_its_members_cost(compared: Compared):
    rnn, transformer, both = (standing.rows[0].numbers for standing in compared[1].standings)
    for number in ("parameters", "flops", "flops_by_rule", "tokens", "seconds"):
        assert both[number] == pytest.approx(rnn[number] + transformer[number])
    assert both["memory"] == max(rnn["memory"], transformer["memory"])


def test_the_table_names_the_best_and_how_sure_that_is(compared: Compared, folder: Path):
    _, outcome = compared
    text = (folder / "table.md").read_text(encoding="utf-8")
    assert text.count("**best**") == 1 and outcome.best is not None
    best = max(outcome.standings, key=lambda one: sum(row.numbers["bleu"] for row in one.rows))
    assert outcome.best.system == best.system and best.p_value is None
    assert all(0 < one.p_value <= 1 for one in outcome.standings if one.p_value is not None)
    assert f"| {best.system} |" in text.split("\n| --- |")[0] + text.split(" --- |\n")[1].split("\n")[0]
    assert "bs:1000" in text and "13a" in text and "× " in text


def test_samples_of_all_systems_stand_side_by_side(compared: Compared, folder: Path):
    _, outcome = compared
    page = (folder / "table.html").read_text(encoding="utf-8")
    assert page.count('class="side"') == 2
    for text in (outcome.sources[0], outcome.references[6]):
        assert text.replace("'", "&#x27;") in page
    assert page.count("<dt>transformer</dt>") == 2


def test_the_page_is_one_file_that_loads_nothing(folder: Path):
    page = (folder / "table.html").read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', page) == []
    assert page.count("<svg") == 2 and "#1b1f24" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert page.count('<table class="matrix') == 2


def test_pictures_are_drawn(folder: Path):
    for name in ("bleu-flops", "curves"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{name}.svg").read_text(encoding="utf-8")


def test_the_manifest_repeats_the_arena(compared: Compared, folder: Path):
    worker, outcome = compared
    found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    again = make_plan(parse(ArenaSettings, found["arena"]))
    assert again.recipes == worker.plan.recipes and [job.name for job in again.jobs] == [
        job.name for job in worker.jobs
    ]
    assert found["commit"] and found["machine"] and found["torch"] and found["signatures"]["BLEU"]
    assert set(found["learning_rate_factors"]) == {"rnn", "transformer"}
    assert len(found["trials"]) == 4 and len(found["results"]) == 6
    assert manifest(outcome, worker.folder)["search"]["rnn"]["flops"] > 1e6


def test_a_table_is_written_where_nothing_is_done_yet(tmp_path: Path):
    worker = worker_of(arena("search={}"), tmp_path)
    outcome = write_outcome(worker.plan, worker.folder, worker)
    assert outcome.best is None and {row.status for row in outcome.rows} == {"not begun"}
    assert "not begun" in (tmp_path / "table.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "Without attention over the source: rnn."),
        ({}, "No picture, because the translation was empty: rnn."),
    ],
)
def test_systems_without_a_picture_of_attention_say_why(compared: Compared, found, words):
    _, outcome = compared
    rows = [replace(row, numbers={**row.numbers, "attention": found}) for row in outcome.standings[0].rows]
    changed = replace(outcome, standings=[replace(outcome.standings[0], rows=rows), *outcome.standings[1:]])
    assert words in page(changed, {"bleu-flops": "", "curves": ""})


def test_sentences_and_failures_are_no_markup_in_the_table(compared: Compared):
    _, outcome = compared
    script = "<script>alert(1)</script> \\<b> [a](b)\n# c"
    first = replace(outcome.standings[0], notes=[script])
    text = markdown(
        replace(outcome, sources=[script] * len(outcome.sources), standings=[first, *outcome.standings[1:]])
    )
    assert "<" not in text and "\n# c" not in text
    assert "&lt;script&gt;" in text and "\\\\&lt;b&gt; \\[a\\](b) # c" in text
