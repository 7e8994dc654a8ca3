"""What happens before a run is trained, and before one is resumed."""

from pathlib import Path

import pytest
from tests.jobs.test_train import Ear
from tests.tiny import Trained, edited, recipe

from dragoman.errors import CorpusError, RunError, SettingsError
from dragoman.jobs.prepare import learn_both, prepare, reopen
from dragoman.jobs.train import fit
from dragoman.runs.folder import read_manifest
from dragoman.runs.recipe import Recipe
from dragoman.settings import override, parse


def test_a_prepared_run_is_written_nowhere(tmp_path: Path) -> None:
    listener = Ear()
    run = prepare(recipe("transformer"), tmp_path / "run", listener, codecs=None)
    assert not run.folder.exists() and run.manifest["data"]
    assert listener.said.count("Reading the corpus and learning the vocabulary.") == 1


def test_codecs_that_are_given_are_taken(tmp_path: Path) -> None:
    listener, tiny = Ear(), recipe("transformer")
    codecs = learn_both(tiny, Ear())
    run = prepare(tiny, tmp_path / "run", listener, codecs=codecs)
    assert (run.source, run.target) == codecs
    assert not any("learning the vocabulary" in sentence for sentence in listener.said)


@pytest.mark.parametrize("kind", ["transformer", "decoder_only"])
def test_a_test_sentence_that_the_model_cannot_take_is_refused_before_training(kind: str, tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("a cat\ta cat\n\t\n" + "\t".join(["a cat and " * 20] * 2))
    more = ["data.target=en", "training.metric=loss"] if kind == "decoder_only" else []
    test = f"data.test=[{{tsv: {tmp_path / 'test.tsv'}}}]"
    tiny = recipe(kind, test, "model.positions=learned", "model.max_positions=40", *more)
    with pytest.raises(
        CorpusError, match=r"test\.tsv, line 3 has \d+ tokens .*40 positions .*`data\.test`.*max_positions"
    ):
        prepare(tiny, tmp_path / "run", Ear(), codecs=None)


def test_a_run_is_reopened_with_what_may_change_alone(trained: Trained) -> None:
    folder = trained("transformer")
    assert reopen(recipe("transformer", "decoding.beam=3"), folder, Ear()).recipe.decoding.beam == 3
    with pytest.raises(SettingsError, match=r"`model\.width` differs"):
        reopen(recipe("transformer", "model.width=32"), folder, Ear())


def test_a_recipe_that_was_edited_in_the_run_is_compared_with_the_one_that_was_trained(
    trained: Trained, tmp_path: Path
) -> None:
    folder = edited(trained("transformer"), tmp_path / "run", data={"filters": {"max_words": 5}})
    with pytest.raises(SettingsError, match=r"`data\.filters\.max_words` differs"):
        reopen(recipe("transformer", "data.filters.max_words=5"), folder, Ear())


def test_a_run_whose_corpora_were_moved_says_where_they_are(tmp_path: Path) -> None:
    def files(folder: Path, dev: str = "dev") -> Recipe:
        folder.mkdir(exist_ok=True)
        (folder / "train.tsv").write_text("a cat\tmột con mèo\n" * 3, encoding="utf-8")
        (folder / "dev.tsv").write_text("a dog\tmột con chó\n", encoding="utf-8")
        corpora = ("data.train=[{tsv: train.tsv}]", f"data.dev=[{{tsv: {dev}.tsv}}]", "data.test=[]")
        kind = ("text={kind: characters, joint: true}", "data.check=false")
        return parse(
            Recipe, override(recipe("transformer").model_dump(mode="json"), [*corpora, *kind, f"data.root={folder}"])
        )

    prepare(files(tmp_path / "a"), tmp_path / "run", Ear(), codecs=None).save()
    run = reopen(files(tmp_path / "b"), tmp_path / "run", Ear())
    assert [*run.manifest["data"]] == [str(tmp_path / f"b/{part}.tsv") for part in ("train", "dev")]
    run.save()
    with pytest.raises(RunError, match=r"train\.tsv has changed"):
        reopen(files(tmp_path / "c", dev="train"), tmp_path / "run", Ear())


def test_what_resuming_changes_is_written_down(tmp_path: Path) -> None:
    run, few = tmp_path / "run", ("training.steps=2", "training.validate_every=1")
    fit(recipe("rnn", *few), run)
    fit(recipe("rnn", *few), run, resume=True)
    assert "resumed" not in read_manifest(run)
    fit(recipe("rnn", "training.steps=3", *few[1:]), run, resume=True)
    fit(recipe("rnn", "training.steps=5", "training.clip=0.5", *few[1:]), run, resume=True)
    assert read_manifest(run)["resumed"] == [
        {"step": 2, "training": {"steps": [2, 3]}},
        {"step": 3, "training": {"steps": [3, 5], "clip": [1.0, 0.5]}},
    ]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("training.steps=1", r"`training\.steps` is 1, but .*run has been trained to its end with 2;"),
        ("training.tokens=3", r"`training\.tokens` is 3, but .* with \d+;"),
        ("training.epochs=1e-4", r"`training\.epochs` is 0\.0001, but .* with 0\.\d+;"),
        ("training.minutes=1e-9", r"`training\.minutes` is 1e-09, but"),
    ],
)
def test_a_budget_that_a_finished_run_has_passed_is_refused(changed: str, words: str, tmp_path: Path) -> None:
    run, few = tmp_path / "run", ("training.steps=2", "training.validate_every=1")
    fit(recipe("rnn", *few), run)
    before = {path: path.read_bytes() for path in run.rglob("*.*")}
    with pytest.raises(SettingsError, match=words):
        fit(recipe("rnn", *few, changed), run, resume=True)
    assert {path: path.read_bytes() for path in run.rglob("*.*")} == before
