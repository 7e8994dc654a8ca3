"""`dragoman classify`, from a table of labels to pictures."""

import json
from pathlib import Path

import pytest
from tests.classification.documents import SMALL, documents, write
from tests.tiny import Trained, dragoman, refusal

OPTIONS = [word for setting in SMALL for word in ("--set", setting)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train with the command; a dev part is held out."""
    folder = tmp_path_factory.mktemp("classify")
    write(folder / "train.tsv", documents(120))
    write(folder / "test.tsv", documents(30, seed=3))
    found = dragoman("classify", "train", folder / "train.tsv", "--out", folder / "run", *OPTIONS)
    assert (found.code, found.lines) == (0, [str(folder / "run")]), found.errors
    assert "negation: " in found.errors and "dev accuracy" in found.errors
    return folder / "run"


def test_a_line_gives_a_label_and_a_probability_an_empty_one_gives_an_empty_one(run: Path):
    found = dragoman("classify", "predict", run, stdin="Who sings?\n\nHe doesn't sing.\n")
    first, empty, last = found.lines
    assert [line.split("\t")[0] for line in (first, last)] == ["question", "negation"]
    assert empty == "" and 0 < float(first.split("\t")[1]) <= 1
    lines = dragoman("classify", "predict", run, "--json", stdin="Who sings?\n\n").lines
    tables = [json.loads(line) for line in lines]
    assert [(table["line"], table["label"]) for table in tables] == [(1, "question"), (2, None)]
    assert sum(tables[0]["probabilities"].values()) == pytest.approx(1)


def test_a_test_set_is_measured(run: Path):
    path = run.parent / "test.tsv"
    found = dragoman("classify", "evaluate", run, path)
    assert found.code == 0 and found.lines[0].startswith("accuracy ") and "always the most frequent" in found.lines[0]
    assert found.lines[3].split() == ["true", "\\", "predicted", "negation", "plain", "question"]
    scores = json.loads(dragoman("classify", "evaluate", run, path, "--json").output)
    assert (scores["documents"], sum(map(sum, scores["confusion"])), scores["majority"]) == (
        30,
        30,
        pytest.approx(1 / 3),
    )
    assert f"accuracy {scores['accuracy']:.4f}" in found.lines[0]
    assert set(scores["labels"]["plain"]) == {"precision", "recall", "f1"}


def test_what_was_looked_at_is_drawn(run: Path, tmp_path: Path):
    found = dragoman("classify", "explain", run, "I love cats. Who sings?", "-o", tmp_path / "a.html")
    assert (found.code, found.lines) == (0, [str(tmp_path / "a.html")])
    assert "<bdi>cats.</bdi>" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_the_same_command_goes_on(run: Path):
    command = ("classify", "train", run.parent / "train.tsv", "--out", run, *OPTIONS)
    assert "already holds a run; add --resume" in refusal(*command)
    found = dragoman(*command, "--resume")
    assert found.code == 0 and "resume with a larger one, such as --set training." in found.errors
    assert "there is no run" in refusal(*command[:3], "--out", run.parent / "none", "--resume")


def test_runs_of_another_kind_are_refused_by_name(run: Path, trained: Trained):
    translator = trained("rnn")
    sentence = refusal("classify", "predict", translator, stdin="x\n")
    assert sentence == f"{translator} is not a document classifier; train one with `dragoman classify train`\n".strip()
    sentence = refusal("translate", run, stdin="x\n")
    assert sentence == f"{run} is a document classifier, not a translator; use it with `dragoman classify`"
    assert "there is no run folder nowhere" in refusal("classify", "predict", "nowhere", stdin="x\n")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("new\tA text.", "line 1 has the label `new`, which training never saw; known: negation, plain, question"),
        ("plain A text.", "line 1 has no tab; each line must hold a label, a tab and a text"),
        ("plain\t", "line 1 has no text after its label `plain`"),
    ],
)
def test_a_line_of_the_test_set_that_does_not_fit_is_named(run: Path, tmp_path: Path, line, sentence):
    assert sentence in refusal("classify", "evaluate", run, write(tmp_path / "test.tsv", [line]))


def test_empty_text_and_other_pictures_are_refused(run: Path, tmp_path: Path):
    assert "is empty; give at least one word" in refusal("classify", "explain", run, " ", "-o", tmp_path / "a.png")
    assert "ends in `.gif`" in refusal("classify", "explain", run, "x", "-o", tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_written_is_refused_before_the_run_is_loaded(tmp_path: Path):
    path = tmp_path / "none" / "a.png"
    assert f"{path} cannot be written" in refusal("classify", "explain", tmp_path / "run", "x", "-o", path)
