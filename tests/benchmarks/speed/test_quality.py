"""Time to a peer's BLEU: what was trained is not trained again, and the page says when Dragoman had what a peer ended with."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks.speed.bench import Bench
from benchmarks.speed.children import Peer, PeerError
from benchmarks.speed.page import write_page
from benchmarks.speed.parts import quality
from benchmarks.speed.quality_page import product, reached
from benchmarks.speed.records import Records, latest, read

RATES = {"float32": 2e9, "bfloat16": 1e9}
CALIBRATION = {"before": RATES, "during": [{"float32": 5e9}], "after": RATES}
CURVE = [
    {"seconds": 100.0, "training": 90.0, "bleu": 30.0},
    {"seconds": 300.0, "training": 270.0, "bleu": 45.0},
    {"seconds": 600.0, "training": 540.0, "bleu": 46.0},
    {"seconds": 650.0, "training": 590.0, "bleu": 46.0, "end": True},
]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let a fake be the only peer and Dragoman's training take no time; the minutes of each training are noted."""
    minutes: list[float] = []

    def train(recipe: str, settings: dict[str, Any], folder: Path, **rest: Any) -> dict[str, Any]:
        minutes.append(settings["training.minutes"])
        if recipe == "broken":
            raise PeerError("`dragoman train` ended with code 2: there is no recipe")
        numbers = {"seconds": 600.0, "whole": 650.0, "validating": 60.0, "steps": 9, "epochs": 2.0, "target": 6000}
        return {**numbers, "curve": CURVE[:3], "during": [], "hypotheses": rest["sources"]}

    monkeypatch.setattr(quality, "train", train)
    monkeypatch.setattr(quality, "rates", lambda: RATES)
    monkeypatch.setattr(quality, "PEERS", ((Peer("fake", "Fake"), ""),))
    monkeypatch.setattr(quality, "NOTES", {"fake": "as it is"})
    monkeypatch.setattr(quality, "SCRIPT", {"fake": Path(__file__).parent / "fake.py"})
    return minutes


def run(folder: Path, **options: Any) -> list[str]:
    """Run the part, and return what it said."""
    said: list[str] = []
    given = {"quick": True, "minutes": 0.1, "recipe": "none", "work": folder, "results": folder, "say": said.append}
    quality.run(Bench(**{**given, **options}))
    return said


def turns(folder: Path) -> list[tuple[str, int]]:
    """Return whose turns there are, with their sittings."""
    records = latest(read(folder / "quality.jsonl"))
    return [(record["contestant"], record["sitting"]) for record in records if record["what"] == "turn"]


def test_what_was_trained_is_not_trained_again(
    tmp_path: Path, trained: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(tmp_path, own_minutes=(0.05, 0.1)) == [
        "quality: Fake (1 of 3)", "quality: Dragoman, 0.05 minutes (2 of 3)", "quality: Dragoman, 0.1 minutes (3 of 3)",
    ]  # fmt: skip
    assert trained == [0.05, 0.1]
    assert run(tmp_path, own_minutes=(0.05, 0.1)) == []
    monkeypatch.setattr(quality, "code", lambda: "other code")
    assert run(tmp_path, own_minutes=(0.05,)) == ["quality: Dragoman, 0.05 minutes (1 of 1)"]
    assert run(tmp_path, own_minutes=(0.05,), again=True, peers=("fake",)) == ["quality: Fake (1 of 1)"]
    assert turns(tmp_path) == [("dragoman-0.05", 1), ("dragoman-0.1", 1), ("dragoman-0.05", 2), ("fake", 3)]


def test_a_peer_is_scored_by_what_it_says_of_dev(tmp_path: Path, trained: list[float]) -> None:
    run(tmp_path, peers=("fake",))
    (turn,) = [record for record in read(tmp_path / "quality.jsonl") if record["what"] == "turn"]
    task = quality.task_of(Bench(quick=True, work=tmp_path))
    expected = task.score([source for source, _ in task.dev])
    assert 0 < turn["bleu"] == pytest.approx(expected["bleu"]) and turn["chrf"] == pytest.approx(expected["chrf"])
    assert "tok:13a" in turn["signature"] and turn["seconds"] == 6.0 and turn["translating"] == 0.5


@pytest.mark.slow
def test_a_training_that_fails_is_skipped_with_its_reason(tmp_path: Path, trained: list[float]) -> None:
    run(tmp_path, recipe="broken", peers=("dragoman",))
    (skipped,) = [record for record in read(tmp_path / "quality.jsonl") if record["what"] == "skipped"]
    assert skipped["reason"] == "`dragoman train` ended with code 2: there is no recipe"
    assert run(tmp_path, recipe="broken", peers=("dragoman",)) == []
    assert run(tmp_path, peers=("dragoman",)) == ["quality: Dragoman, 0.0333 minutes (1 of 1)"]
    write_page(tmp_path / "page.md", tmp_path, {"quality": (quality.TITLE, quality.section)})
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| Dragoman, 0.0333 minutes |" in text and "was skipped" not in text


def test_the_first_moment_counts_not_the_nearest() -> None:
    falling = {"curve": [{"bleu": 10.0}, {"bleu": 30.0, "at": 1}, {"bleu": 20.0}, {"bleu": 31.0}]}
    assert reached(falling, 25.0) == {"bleu": 30.0, "at": 1} == reached(falling, 30.0)
    assert reached(falling, 40.0) is None
    assert product({"calibration": CALIBRATION}) == 3e9


def test_the_page_says_when_dragoman_had_what_a_peer_ended_with(tmp_path: Path) -> None:
    records = Records(tmp_path, "quality", "key")
    about = {"machine": "a machine", "threads": 2, "commit": "abc", "python": "3.11", "torch": "2.13", "time": "today"}
    model = {**quality.MODEL, "vocabulary": 8000}
    shape = {"target_tokens": 4000.0, "pairs": 28_900, "dev": 1014}
    records.add("about", **about)
    records.add("plan", model=model, corpus="pairs", **shape, seconds=1800.0, learning_rate=0.0007, warm=400)
    common = {"chrf": 60.0, "note": "how", "signature": "tok:13a", "calibration": CALIBRATION, "epochs": 7.0}
    for name, bleu in (("good", 45.0), ("better", 50.0), ("poor", 20.0)):
        numbers = {"seconds": 1800.0, "target": 3_600_000, "bleu": bleu}
        records.add("turn", contestant=name, title=name.capitalize(), round=0, **numbers, **common)
    numbers = {"seconds": 600.0, "target": 1_200_000, "bleu": 46.0, "curve": CURVE, "whole": 650.0, "validating": 60.0}
    for minutes, code in ((7, "old code"), (10, "old code"), (10, "code")):
        given = {"contestant": f"dragoman-{minutes}", "title": f"Dragoman, {minutes} minutes", "of": code}
        records.add("turn", **given, round=0, **numbers, **common)
    write_page(tmp_path / "page.md", tmp_path, {"quality": (quality.TITLE, quality.section)})
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| Good | 45.00 | 60.00 | 30.0 | 7.0 | 2,000 | 3 | how |" in text
    assert "|  | Better: 50.00 | Good: 45.00 | Poor: 20.00 |" in text
    assert text.count("| Dragoman, 10 minutes | 46.00 |") == 1 and "7 minutes" not in text, (
        "runs of other code are shown"
    )
    moments = "not reached | 300 s (0.17); 270 s (0.15) | 100 s (0.06); 90 s (0.05)"
    assert f"| Dragoman, 10 minutes | {moments} |" in text
    assert "The best peer is Better" in text and "| dev BLEU | 30.00 | 45.00 | 46.00 | 46.00 |" in text
    assert "(page/quality.png)" in text and (tmp_path / "page" / "quality.png").exists()
    assert "rises to 0.0007 in 400 steps" in text and "BLEU is sacreBLEU's: tok:13a." in text
