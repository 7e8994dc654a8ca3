"""Data diversification: runs of both directions translate their training corpus."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from tests.tiny import Trained, edited, with_decoding

from dragoman.data.corpus import read_pairs
from dragoman.errors import DragomanError, InputError, RunError
from dragoman.inference.translator import Translator
from dragoman.jobs import translate_corpus
from dragoman.jobs.diversify import diversify, one_way
from dragoman.jobs.train import fit
from dragoman.jobs.translate_corpus import TranslationProgress
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import load_recipe

FORWARD = (
    "data.train=[{phrasebook: train, pairs: 40}, {phrasebook: train, pairs: 10, seed: 3, repeat: 2}]",
    "text.size=150",
)
BACK = ("data.source=vi", "data.target=en", "data.train.0.pairs=60")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def runs(trained: Trained) -> list[Path]:
    """A run of each direction; only the corpora of the first are translated."""
    return [trained("rnn", *FORWARD), trained("rnn", *BACK)]


@pytest.mark.slow
def test_each_run_translates_its_side_of_the_corpora_of_the_first(runs: list[Path], tmp_path: Path) -> None:
    made = diversify(runs, tmp_path / "made")
    data = open_run(runs[0]).recipe.data
    for part, corpus in enumerate(data.train, 1):
        pairs = list(read_pairs(corpus, data))
        forward = Translator.load(runs[0]).translate([pair.source for pair in pairs])
        back = Translator.load(runs[1]).translate([pair.target for pair in pairs])
        first, second = (rows(tmp_path / "made" / f"{number}-{part}.jsonl") for number in (1, 2))
        assert [(row["en"], row["vi"]) for row in first] == [
            (pair.source, one.text) for pair, one in zip(pairs, forward, strict=True)
        ]
        assert [(row["en"], row["vi"]) for row in second] == [
            (one.text, pair.target) for pair, one in zip(pairs, back, strict=True)
        ]
    assert len(made.files) == 4 and "10 translations of 10 sentences" in made.files[1]


def test_runs_of_one_direction_alone_are_remarked_on(runs: list[Path]) -> None:
    opened = [open_run(run) for run in runs]
    assert one_way(opened) is None
    remark = one_way(opened[1:])
    assert remark is not None and "A run from en to vi would add translations of the targets." in remark


def test_the_recipe_learns_from_everything_in_either_direction(runs: list[Path], tmp_path: Path) -> None:
    made = diversify(runs, tmp_path / "made")
    first = open_run(runs[0]).recipe
    recipe = load_recipe(made.recipe, ["training.steps=2"])
    assert (recipe.model, recipe.text, recipe.data.train[:2]) == (first.model, first.text, first.data.train)
    assert [(corpus.paths[0].name, corpus.repeat) for corpus in recipe.data.train[2:]] == [
        ("1-1.jsonl", 1),
        ("1-2.jsonl", 2),
        ("2-1.jsonl", 1),
        ("2-2.jsonl", 2),
    ]
    assert recipe.data.filters.drop_duplicates
    fit(recipe, tmp_path / "run")
    back = load_recipe(made.recipe, ["training.steps=2", "data.source=vi", "data.target=en"])
    for corpus in recipe.data.train[2:]:
        there, here = ([pair[:2] for pair in read_pairs(corpus, one.data)] for one in (recipe, back))
        assert there == [(target, source) for source, target in here]
    again = diversify([tmp_path / "run", runs[1]], tmp_path / "twice", original=runs[0])
    assert len(load_recipe(again.recipe).data.train) == 10  # the second round translates the original corpora alone


class Killed(BaseException):
    """Nobody catches it, as nobody catches a kill."""


def test_a_killed_job_continues_with_the_same_result(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translate_corpus, "CHUNK", 16)
    runs = [copytree(runs[0], tmp_path / "first"), runs[1]]
    whole, part = tmp_path / "whole", tmp_path / "part"
    diversify(runs, whole)
    reports: list[TranslationProgress] = []

    def stop(progress: TranslationProgress) -> None:
        reports.append(progress)
        if len(reports) == 6:  # the second run has begun
            raise Killed

    with pytest.raises(Killed):
        diversify(runs, part, report=stop)
    assert not (part / "recipe.yaml").exists()
    with pytest.raises(RunError, match="already contains translations; add --resume"):
        diversify(runs, part)
    with pytest.raises(InputError, match=r"`decoding` differs"):
        diversify(runs, part, decoding={"beam": 2}, resume=True)
    table = (runs[0] / "recipe.yaml").read_text(encoding="utf-8")
    other = edited(runs[0], tmp_path / "other", data={"filters": {"max_words": 4}}) / "recipe.yaml"
    (runs[0] / "recipe.yaml").write_text(other.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match=r"`filters` differs"):
        diversify(runs, part, resume=True)
    (runs[0] / "recipe.yaml").write_text(table, encoding="utf-8")
    diversify(runs, part, resume=True)
    for file in sorted(whole.glob("*.jsonl")):
        assert file.read_bytes() == (part / file.name).read_bytes()


def test_runs_that_do_not_fit_are_refused(runs: list[Path], trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "made"
    with pytest.raises(InputError, match="give runs between the same two languages"):
        diversify([runs[0], trained("rnn", "data.target=fr")], out)
    with pytest.raises(InputError, match="is a masked language model"):
        diversify([runs[0], trained("masked_lm")], out)
    with pytest.raises(InputError, match=r"does not translate from en to vi, as .*--original"):
        diversify(runs, out, original=runs[1])
    with pytest.raises(InputError, match="nothing to resume"):
        diversify(runs, out, resume=True)
    assert not out.exists()


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_with_something_else_is_left_as_it_is(runs: list[Path], tmp_path: Path, resume: bool) -> None:
    other = copytree(runs[1], tmp_path / "other")
    before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match=r"this did not make \(such as `checkpoints`\); choose another folder"):
        diversify(runs, other, resume=resume, report=no_work)
    assert {path: path.read_bytes() for path in other.rglob("*") if path.is_file()} == before


def no_work(_: TranslationProgress) -> None:
    raise AssertionError("work has begun")


def test_everything_is_checked_before_anything_is_translated(
    runs: list[Path], trained: Trained, tmp_path: Path
) -> None:
    out, corpus = tmp_path / "made", tmp_path / "long.tsv"
    corpus.write_text("Yes.\tVâng.\n" + "No.\t" + "Không. " * 60 + "\n", encoding="utf-8")
    unfinished, damaged = (copytree(runs[1], tmp_path / name) for name in ("unfinished", "damaged"))
    (unfinished / "model.safetensors").unlink()
    (damaged / "model.safetensors").write_bytes(b"no weights")
    first = edited(runs[0], tmp_path / "first", data={"train": [{"tsv": str(corpus)}]})
    narrow = trained("transformer", *BACK, "model.positions=learned", "model.max_positions=40")
    plain = trained("rnn", *BACK, "model.decoder=plain", "model.score=additive")
    covered: dict[str, Any] = {"decoding": {"coverage_penalty": 0.2}}
    given: tuple[tuple[list[Path], str, dict[str, Any]], ...] = (
        ([runs[0], unfinished], "has no model.safetensors yet", {}),
        ([runs[0], damaged], "damaged", {}),
        ([first, narrow], rf"{narrow.name} cannot translate .*long\.tsv, line 2: .*40 positions", {}),
        ([runs[0], with_decoding(runs[1], tmp_path / "reranked", rerank=["gone"])], "no run folder gone", {}),
        ([with_decoding(runs[0], tmp_path / "too", rerank=["gone"]), runs[1]], "no run folder gone", {}),
        ([runs[0], plain], "needs attention over the source", covered),
        ([runs[0], runs[1], runs[1] / ".." / runs[1].name], "is given twice", {}),
        ([edited(runs[0], tmp_path / "dev", data={"dev": [{"tsv": "gone.tsv"}]})], "no file gone.tsv", {}),
    )
    for some, named, options in given:
        with pytest.raises(DragomanError, match=named):
            diversify(some, out, report=no_work, **options)
        assert not out.exists(), named
    corpus.rename(out)
    with pytest.raises(RunError, match="is a file; choose a folder with --out"):
        diversify(runs, out, report=no_work)
