"""`dragoman calibrate`."""

import json
from pathlib import Path
from shutil import copytree

import pytest
from tests.jobs.test_calibrate import ASSIGNMENTS, half_right
from tests.tiny import Trained, dragoman, refusal

from dragoman.data.corpus import Pair
from dragoman.jobs.calibrate import PICTURE

LINES = "I love cats.\n\nThis is a book.\n"


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    """A run of one's own with 80 dev sentences."""
    return Path(copytree(trained("transformer", *ASSIGNMENTS), tmp_path / "run"))


def write_pairs(folder: Path, pairs: list[Pair]) -> tuple[Path, Path]:
    """Write pairs into two files."""
    paths = folder / "a.en", folder / "a.vi"
    for path, texts in zip(paths, zip(*[(pair.source, pair.target) for pair in pairs], strict=True), strict=True):
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return paths


def test_the_command_makes_what_translate_needs(run: Path, tmp_path: Path) -> None:
    assert f"make one with `dragoman calibrate {run}`" in refusal("translate", run, "--confidence", stdin=LINES)
    made = dragoman("calibrate", run, "--on", *write_pairs(tmp_path, half_right(run)))
    assert (made.code, made.lines) == (0, [str(run / PICTURE)])
    for part in (
        "80 sentences",
        "expected calibration error",
        "AUROC",
        "sentence chrF of at least",
        "good translations",
    ):
        assert part in made.errors
    rows = [json.loads(line) for line in dragoman("translate", run, "--confidence", "--json", stdin=LINES).lines]
    assert [set(row) - {"line", "translation", "score", "log_prob"} for row in rows] == [
        {"confidence", "words", "alarms"}
    ] * 3
    assert 0 <= rows[0]["confidence"] <= 1 and rows[1]["confidence"] is None
    assert " ".join(word for word, _ in rows[0]["words"]) == rows[0]["translation"]
    plain = dragoman("translate", run, "--confidence", stdin=LINES).lines
    assert [line.split(" ||| ")[0] for line in plain] == dragoman("translate", run, stdin=LINES).lines
    assert float(plain[0].split(" ||| ")[1]) == pytest.approx(rows[0]["confidence"], abs=1e-3)


def test_other_sentences_and_passes_can_be_given(run: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path, half_right(run)[:60])
    made = dragoman("calibrate", run, "--on", tmp_path / "a.en", tmp_path / "a.vi", "--dropout", 2, "--samples", 2)
    assert made.code == 0 and "60 sentences" in made.errors
    assert "swap the files" in refusal("calibrate", run, "--on", tmp_path / "a.vi", tmp_path / "a.en")


def test_what_would_be_ignored_is_refused(run: Path, tmp_path: Path, trained: Trained) -> None:
    for option in (("--threshold", 40), ("--on", tmp_path / "a", tmp_path / "b")):
        assert "remove --on and --threshold" in refusal("calibrate", run, "--judgements", tmp_path / "j", *option)
    assert "dragoman fill" in refusal("calibrate", trained("masked_lm"))
    assert "and --sentences, or" in refusal("calibrate", run, "--judgements", tmp_path / "j", "--sentences", 70)
