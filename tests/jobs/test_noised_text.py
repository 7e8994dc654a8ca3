"""Noised text beside pairs: every job knows that its lines are no translations."""

from pathlib import Path
from typing import Any

import pytest
from tests.tiny import edited, left_to_auto, recipe, recipe_file

from dragoman.doctor.examine import examine
from dragoman.errors import SettingsError
from dragoman.jobs import train as module
from dragoman.jobs.auto import measure_corpus
from dragoman.jobs.distill import FOLDER, DistillationSettings, distill
from dragoman.jobs.diversify import diversify
from dragoman.jobs.mixing import pairs_of
from dragoman.jobs.parts import linked
from dragoman.jobs.shortlist import make_shortlist
from dragoman.jobs.train import fit
from dragoman.runs.folder import SHORTLIST, open_run
from dragoman.runs.recipe import load_recipe
from dragoman.text.tags import NOISED
from dragoman.training.checkpoint import load_tensors

NEWS = ["Hôm qua trời mưa to.", "Tôi yêu mèo.", "Con chó ngủ trong nhà."] * 20


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Pairs of the phrasebook, and text."""
    text = tmp_path_factory.mktemp("text") / "news.vi"
    text.write_text("".join(f"{line}\n" for line in NEWS), encoding="utf-8")
    return f"data.train=[{{phrasebook: train, pairs: 40}}, {{text: {text}, noised: true}}]"


@pytest.fixture(scope="module")
def run(corpora: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that also learned to restore noised text, with a share of its own."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    small = ("training.steps=4", "text.size=120", "decoding.maximum_ratio=1.0", "data.noise=0.2", "data.test=[]")
    fit(recipe("rnn", corpora, *small), folder)
    return folder


def test_training_hides_the_share_of_the_recipe_and_resumes(
    corpora: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Watched(module.BatchStream):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            made.append(self)

    monkeypatch.setattr(module, "BatchStream", Watched)
    given = recipe("transformer", corpora, "training.steps=3", "text.size=120")
    fit(given, tmp_path / "run")
    fit(recipe("transformer", corpora, "training.steps=5", "text.size=120"), tmp_path / "run", resume=True)
    fit(recipe("transformer", "training.steps=2"), tmp_path / "plain")
    assert [one.variation.noise for one in made] == [0.35, 0.35, 0.0]
    source = open_run(tmp_path / "run").source
    assert source.pieces(source.special.tags) == [NOISED]


def test_a_student_learns_translations_of_the_pairs_alone(run: Path, tmp_path: Path) -> None:
    student = recipe_file(tmp_path, "transformer", "training.steps=2")
    distill([run], student, tmp_path / "student")
    assert [path.name for path in (tmp_path / "student" / FOLDER).glob("*.jsonl")] == ["1.jsonl"]
    data = open_run(tmp_path / "student").recipe.data
    assert not any(corpus.is_noised for corpus in data.train) and data.noise == 0.35
    distill([run], student, tmp_path / "both", teaching=DistillationSettings(original=True))
    data = open_run(tmp_path / "both").recipe.data
    assert [corpus.is_noised for corpus in data.train] == [False, False, True] and data.noise == 0.2


def test_diversified_data_are_of_the_pairs_alone_and_for_both_directions(run: Path, tmp_path: Path) -> None:
    back = tmp_path / "back"
    fit(recipe("rnn", "data.source=vi", "data.target=en", "training.steps=2", "data.train.0.pairs=40"), back)
    made = diversify([run, back], tmp_path / "made")
    found = load_recipe(made.recipe, ["data.source=vi", "data.target=en"])
    assert len(found.data.train) == 3 and not any(corpus.is_noised for corpus in found.data.train)


def test_alignments_shortlists_and_adaptation_read_the_pairs_alone(run: Path, tmp_path: Path) -> None:
    copy = edited(run, tmp_path / "copy")
    make_shortlist(copy, likely=4, frequent=9)
    assert load_tensors(copy / SHORTLIST)[1]["pairs"] == 40
    given = open_run(run).recipe
    assert linked(given) == [False]
    assert not {pair.source for pair in pairs_of(given.data, "train")} & set(NEWS)


def test_auto_and_the_doctor_count_noised_text_as_one_language(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("一二三四五六七八九十一二三四五\tone two three\n" * 30, encoding="utf-8")
    (tmp_path / "news.en").write_text("four five six seven\n" * 500, encoding="utf-8")
    train = "[{tsv: a.tsv}, {text: 'news.{target}', noised: true}]"
    data = f"{{source: zh, target: en, root: {tmp_path}, train: {train}, dev: [{{tsv: a.tsv}}]}}"
    given = left_to_auto(f"data={data}")
    size = measure_corpus(given)
    assert not size.spaced, "Chinese has no spaces, however much English there is"
    assert size.characters == 30 * (15 + 13) + 500 * 19
    assert any("has 30 pairs, too few for a translator" in one.what for one in examine(given.data).findings)


@pytest.mark.parametrize("part", ["dev", "test"])
def test_noised_text_is_for_training(part: str, corpora: str, tmp_path: Path) -> None:
    text = corpora.partition("{text: ")[2].partition(",")[0]
    with pytest.raises(SettingsError, match=rf"`data\.{part}\.0\.noised: true` works only for training corpora"):
        fit(recipe("rnn", corpora, f"data.{part}=[{{text: {text}, noised: true}}]"), tmp_path / "run")
