"""The part that translates: its page, its goals, and what happens where an engine is not installed."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks.speed.bench import Bench
from benchmarks.speed.page import write_page
from benchmarks.speed.parts import startup, translate
from benchmarks.speed.records import Records

from dragoman.conversion import job
from dragoman.errors import InputError
from dragoman.inference.translator import Translator

ABOUT = {"machine": "a machine", "threads": 2, "commit": "abc", "python": "3.11", "torch": "2.13", "time": "today"}
SIZE = {"width": 512, "feed_forward": 2048, "heads": 8, "layers": 6, "vocabulary": 32000}
WORK = [[1, 1, 2], [1, 5, 2], [64, 1, 64], [64, 5, 64]]


def measured(folder: Path, times: int, **seconds: float) -> str:
    """Write records in which each contestant needs so many seconds a sentence, and return the page."""
    records = Records(folder, "translate", "key")
    records.add("about", **ABOUT)
    records.add("plan", sizes={"base": SIZE}, work=WORK, target=16)
    for name, one in seconds.items():
        contestant = f"base/{name.replace('_', '-')}"
        records.add("loaded", contestant=contestant, title=name, note="", load_seconds=0.25 if "own" in name else None)
        for number in range(times):
            turn = {f"{batch}x{beam}": [one * batch * beam] * (count // batch) for batch, beam, count in WORK}
            records.add("turn", contestant=contestant, round=number, sitting=1, memory=10**8, **turn)
    write_page(folder / "page.md", folder, {"translate": (translate.TITLE, translate.section)})
    return (folder / "page.md").read_text(encoding="utf-8")


def row(text: str, title: str) -> list[str]:
    """Return the cells of a row."""
    line = next(line for line in text.split("\n") if line.startswith(f"| {title} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_speed_is_compared_with_the_usual_engine(tmp_path: Path) -> None:
    text = measured(tmp_path, 2, ctranslate2_int8=0.5, own=0.25)
    assert row(text, "own")[1:3] == ["4.0 (2.00 (2.00-2.00))", "0.8 (2.00 (2.00-2.00))"]
    assert row(text, "own")[5:] == ["1,250", "1,250", "0.25", "100"]
    assert row(text, "ctranslate2_int8")[7] == "-" and row(text, "engine")[6] == "largest ms"


def test_a_p99_is_named_so_where_there_are_values_enough(tmp_path: Path) -> None:
    assert row(measured(tmp_path, 50, own=0.25), "engine")[6] == "p99 ms"


def test_goals_are_said_where_their_contestants_are(tmp_path: Path) -> None:
    engines = {"dragoman_torch": 0.2, "dragoman_torch_auto": 0.1, "ctranslate2_int8": 0.5}
    students = {"student_6+1": 0.1}
    text = measured(tmp_path, 3, **engines, huggingface=0.6, eole=0.4, **students)
    own = "to the best peer that searches with torch (eole; goal 1.5): fp32 2.00 (2.00-2.00), auto 4.00 (4.00-4.00)."
    assert f"- Own engine, batch 1, beam 5, {own}" in text and f"- Own engine, batch 64, beam 5, {own}" in text
    student = next(
        line for line in text.split("\n") if line.startswith("- student_6+1, to CTranslate2 int8 of 6+6 layers")
    )
    assert (
        "batch 1, greedy 25.00" in student and "batch 1, beam 5 5.00" in student and "batch 64, beam 5 5.00" in student
    )


def test_goals_are_left_out_where_nobody_is_there_to_compare(tmp_path: Path) -> None:
    text = measured(tmp_path, 2, dragoman_torch=0.2)
    assert "Own engine," not in text and row(text, "dragoman_torch")[1] == "5.0 (-)"


def test_without_ctranslate2_its_engines_are_skipped_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "can_be_used", lambda: False)
    found = translate.contestants(Bench(work=tmp_path), "tiny", translate.QUICK["tiny"])
    missing = {one.name: one.missing for one in found if one.missing}
    assert set(missing) == {
        "tiny/dragoman-float32", "tiny/dragoman-int8", "tiny/ctranslate2-float32", "tiny/ctranslate2-int8", "tiny/student-2+1",
    }  # fmt: skip
    assert set(missing.values()) == {'CTranslate2 is not installed; install it with `pip install "dragoman[fast]"`'}


def test_without_ctranslate2_start_up_is_measured_but_for_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path, **options: Any) -> None:
        raise InputError("CTranslate2 is not installed")

    monkeypatch.setattr(startup, "small_run", lambda bench, recipe: tmp_path)
    monkeypatch.setattr(startup, "export", refuse)
    monkeypatch.setattr(startup, "started", lambda arguments: 0.5)
    said: list[str] = []
    bench = Bench(work=tmp_path, results=tmp_path, quick=True, say=said.append)
    startup.run(bench)
    write_page(tmp_path / "page.md", tmp_path, {"startup": (startup.TITLE, startup.section)})
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "with an int8 export: `dragoman translate EXPORT` was skipped: CTranslate2 is not installed" in text
    assert row(text, "`dragoman --help`")[1:] == ["0.50 (0.50-0.50)", "0.50", "2", "0.3"]
    said.clear()
    startup.run(bench)
    assert said == []


def test_a_recurrent_size_has_no_exports_and_no_peer_without_loops(tmp_path: Path) -> None:
    found = translate.contestants(Bench(work=tmp_path), "recurrent", translate.QUICK["recurrent"])
    assert {one.name.partition("/")[2] for one in found} == {"dragoman-torch", "dragoman-torch-auto", "opennmt", "eole"}


def test_every_recurrent_translation_has_the_same_length(tmp_path: Path) -> None:
    size = translate.QUICK["recurrent"]
    folder, _ = translate.model(Bench(work=tmp_path), "recurrent", size, (1, 1), kinds=())
    texts = [" ".join(f"w{index}" for index in ids) for ids in translate.sentences(size["vocabulary"], 5, seed=1)]
    lengths = [len(found.text.split()) for found in Translator.load(folder).translate(texts)]
    assert lengths == [translate.TARGET] * 5
