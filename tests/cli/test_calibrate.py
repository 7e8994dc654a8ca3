"""`dragoman calibrate`."""

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree

import pytest
from tests.jobs.test_calibrate import ASSIGNMENTS, half_right
from tests.tiny import Trained, dragoman, recipe, refusal

from dragoman.data.corpus import Pair, read_pairs
from dragoman.data.corpus_settings import PhrasebookSettings
from dragoman.errors import InputError
from dragoman.inference.confidence.calibration import FILE
from dragoman.jobs.calibrate import check_unseen, dev_pairs, picture_of
from dragoman.jobs.train import fit
from dragoman.runs.folder import open_run
from dragoman.runs.lock import run_lock

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
    assert (made.code, made.lines) == (0, [str(picture_of(run))])
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


def test_an_alarm_that_copied_references_switch_off_is_named(run: Path, tmp_path: Path) -> None:
    pairs = half_right(run)
    copies = [Pair(pair.source, pair.source, "") for pair in pairs[:4]]
    made = dragoman("calibrate", run, "--on", *write_pairs(tmp_path, [*copies, *pairs[4:]]))
    assert made.code == 0 and "The alarm `copied` is switched off" in made.errors
    assert "`copied`" not in dragoman("calibrate", run, "--on", *write_pairs(tmp_path, pairs)).errors


@pytest.mark.slow
def test_other_sentences_and_passes_can_be_given(run: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path, half_right(run)[:60])
    made = dragoman("calibrate", run, "--on", tmp_path / "a.en", tmp_path / "a.vi", "--dropout", 2, "--samples", 2)
    assert made.code == 0 and "60 sentences" in made.errors
    assert "swap the files" in refusal("calibrate", run, "--on", tmp_path / "a.vi", tmp_path / "a.en")


def test_what_would_be_ignored_is_refused(run: Path, tmp_path: Path, trained: Trained) -> None:
    for option in (("--threshold", 40), ("--on", tmp_path / "a", tmp_path / "b")):
        assert "remove --on and --threshold" in refusal("calibrate", run, "--judgements", tmp_path / "j", *option)
    assert "dragoman fill" in refusal("calibrate", trained("masked_lm"))
    assert "dragoman fill" in refusal("calibrate", run, trained("masked_lm"))
    assert "and --sentences, or" in refusal("calibrate", run, "--judgements", tmp_path / "j", "--sentences", 70)


def refused_at_once(*arguments: object) -> str:
    """Return the sentence with which the command refuses before it has said that it translates or observes anything."""
    found = dragoman("calibrate", *arguments)
    assert (found.code, found.output) == (2, ""), found
    (sentence,) = found.errors.splitlines()
    return sentence.removeprefix("dragoman: ")


def judged(path: Path, pairs: list[Pair], values: Sequence[object]) -> Path:
    """Write a file of judgements, with the values in turn."""
    rows = (f"{pair.source}\t{pair.target}\t{values[at % len(values)]}\n" for at, pair in enumerate(pairs))
    path.write_text("".join(rows), encoding="utf-8")
    return path


def test_too_few_sentences_are_refused_before_they_are_translated(run: Path, tmp_path: Path) -> None:
    few = write_pairs(tmp_path, dev_pairs(run)[:49])
    assert "49 translations to learn from, but at least 50" in refused_at_once(run, "--on", *few)
    assert "20 translations to learn from" in refused_at_once(run, "--sentences", 20)
    blank = write_pairs(tmp_path, [pair._replace(target=" ") for pair in dev_pairs(run)])
    assert "there are 0 translations to learn from" in refused_at_once(run, "--on", *blank)


def test_references_that_are_the_sources_are_refused(run: Path, tmp_path: Path) -> None:
    same = write_pairs(tmp_path, [pair._replace(target=pair.source) for pair in dev_pairs(run)])
    assert "a.en and" in refused_at_once(run, "--on", *same) and "same" in refused_at_once(run, "--on", *same)


def test_files_that_cannot_be_learned_from_are_named(run: Path, tmp_path: Path) -> None:
    sources, references = write_pairs(tmp_path, dev_pairs(run))
    assert "there is no file" in refused_at_once(run, "--on", sources, tmp_path / "b.vi")
    references.write_text("".join(references.read_text(encoding="utf-8").splitlines(keepends=True)[1:]))
    assert "has 80 lines but" in refused_at_once(run, "--on", sources, references)
    assert "there is no file" in refused_at_once(run, "--judgements", tmp_path / "none.tsv")
    assert "is a directory" in refused_at_once(run, "--judgements", tmp_path)


def test_text_that_the_run_was_trained_on_is_refused(tmp_path: Path) -> None:
    train = write_pairs(
        tmp_path, list(read_pairs(PhrasebookSettings(phrasebook="train", pairs=80), recipe("rnn").data))
    )
    corpus = f"data.train=[{{source: {train[0]}, target: {train[1]}}}]"
    fit(recipe("rnn", corpus, "training.steps=1"), tmp_path / "own")
    assert "was trained on" in refused_at_once(tmp_path / "own", "--on", *train)
    fit(recipe("rnn", "training.steps=1"), tmp_path / "other")
    assert "own was trained on" in refused_at_once(tmp_path / "other", tmp_path / "own", "--on", *train)
    dev = f"data.dev=[{{source: {train[0]}, target: {train[1]}}}]"
    fit(recipe("rnn", dev, "training.steps=1"), tmp_path / "third")
    assert "own was trained on" in refused_at_once(tmp_path / "third", tmp_path / "own")
    adapted = open_run(tmp_path / "other")
    check_unseen(adapted, train[0])
    adapted.manifest["adapted"] = {"runs": [str(tmp_path / "gone"), str(tmp_path / "own"), str(adapted.folder)]}
    with pytest.raises(InputError, match="was trained on"):
        check_unseen(adapted, train[0])


@pytest.mark.parametrize("threshold", ["0", "-1", "100.5", "nan", "inf"])
def test_a_threshold_that_divides_nothing_is_refused(run: Path, threshold: str) -> None:
    found = dragoman("calibrate", run, f"--threshold={threshold}")
    assert (found.code, found.output) == (
        2,
        "",
    ) and f"{threshold} is not a chrF above 0 and at most 100" in found.errors


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([1], "100.0% of the translations count as good"),
        ([0], "0.0% of the translations count as good"),
        ([0.5], "all judgements are 0.5"),
        ([0.2, 0.4], "no translation is judged 0.5 or more"),
        ([1, 0, 1.01], "line 3 is not a judgement"),
        ([1, 0, "good"], "line 3 is not a judgement"),
        ([1, "0\t1"], "line 2 is not a judgement"),
    ],
)
def test_judgements_that_teach_nothing_are_refused(
    run: Path, tmp_path: Path, values: list[object], sentence: str
) -> None:
    found = refused_at_once(run, "--judgements", judged(tmp_path / "judged.tsv", dev_pairs(run), values))
    assert sentence in found and ("judged.tsv" in found or "count as good" in found)


def test_too_few_judgements_are_refused(run: Path, tmp_path: Path) -> None:
    pairs = dev_pairs(run)
    few = judged(tmp_path / "few.tsv", pairs[:49], [0, 1])
    assert "49 translations to learn from" in refused_at_once(run, "--judgements", few)
    empty = judged(tmp_path / "empty.tsv", [pair._replace(target=" ") for pair in pairs], [0, 1])
    assert "there are 0 translations" in refused_at_once(run, "--judgements", empty)


@pytest.mark.parametrize("name", [FILE, "calibration.svg"])
def test_a_folder_where_a_file_would_be_written_is_refused(run: Path, name: str) -> None:
    (run / name).mkdir()
    assert f"{run / name} cannot be written (Is a directory)" in refused_at_once(run)
    assert not [path for path in run.iterdir() if path in (run / FILE, picture_of(run)) and path.is_file()]


def test_an_ensemble_is_calibrated_in_the_folder_of_its_first_run(run: Path, trained: Trained, tmp_path: Path) -> None:
    other = trained("rnn")
    advice = f"`dragoman calibrate {run} {other}`"
    assert advice in refusal("translate", run, other, "--confidence", stdin=LINES)
    made = dragoman("calibrate", run, other, "--on", *write_pairs(tmp_path, half_right(run, other)))
    assert (made.code, made.lines) == (0, [str(picture_of(run, other))])
    assert f"dragoman translate {run} {other} --confidence" in made.errors
    (row, *_) = [
        json.loads(line) for line in dragoman("translate", run, other, "--confidence", "--json", stdin=LINES).lines
    ]
    assert 0 <= row["confidence"] <= 1
    page = tmp_path / "report.html"
    assert dragoman("translate", run, other, "--report", page, stdin=LINES).code == 0
    assert f"{run} and {other}" in page.read_text(encoding="utf-8")
    assert "has no calibration" in refusal("translate", run, "--confidence", stdin=LINES)


def test_a_run_that_is_being_trained_is_refused(run: Path) -> None:
    with run_lock(run):
        assert "is being trained" in refused_at_once(run)


def test_dropout_passes_need_a_run_with_dropout(trained: Trained, tmp_path: Path) -> None:
    run = Path(copytree(trained("transformer", *ASSIGNMENTS, "model.dropout=0"), tmp_path / "run"))
    assert "remove --dropout" in refused_at_once(run, "--dropout", 5)


def test_a_sentence_longer_than_the_positions_is_named_by_its_line(trained: Trained, tmp_path: Path) -> None:
    positions = ("model.positions=learned", "model.max_positions=60")
    run = Path(copytree(trained("transformer", *ASSIGNMENTS, *positions), tmp_path / "run"))
    pairs = [Pair("", "", ""), *dev_pairs(run)]
    long = [*pairs[:70], pairs[70]._replace(target="a " * 100), *pairs[71:]]
    assert "target sentence 71 has" in refused_at_once(run, "--on", *write_pairs(tmp_path, long))


def test_runs_that_cannot_be_calibrated_are_named(run: Path, trained: Trained, tmp_path: Path) -> None:
    assert "dragoman generate" in refused_at_once(trained("decoder_only"))
    assert "several directions" in refused_at_once(
        trained("transformer", "data.train=[{phrasebook: train, pairs: 300, both_ways: true}]")
    )
    assert "no run folder" in refused_at_once(tmp_path / "none")
    (run / "model.safetensors").unlink()
    assert "has no model.safetensors yet" in refused_at_once(run)
