"""The doctor before training."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.doctor.conftest import good
from tests.tiny import recipe

from dragoman.doctor import languages, vocabulary
from dragoman.errors import CorpusError
from dragoman.jobs import examination
from dragoman.jobs.examination import check_data, check_vocabularies, limits_of
from dragoman.runs.recipe import Recipe
from dragoman.text.codec import learn_codec
from dragoman.text.settings import WordsSettings


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Recipe]:
    """Return a function that writes a corpus and returns a recipe of it."""

    def make(pairs: list[tuple[str, str]], *changes: str) -> Recipe:
        for name, some in (("train", pairs), ("dev", good(300, first=9000))):
            text = "".join(f"{source}\t{target}\n" for source, target in some)
            (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
        corpora = [f"data.{part}=[{{tsv: {tmp_path / part}.tsv}}]" for part in ("train", "dev")]
        return recipe("rnn", "data.target=fr", "data.test=[]", *corpora, *changes)

    return make


def said(recipe: Recipe, run: Path) -> list[str]:
    """Return what is said of a corpus."""
    heard: list[str] = []
    check_data(recipe, run, heard.append)
    return heard


def test_a_good_corpus_is_trained_on_without_a_word(made: Callable[..., Recipe], tmp_path: Path) -> None:
    assert said(made(good(2500)), tmp_path / "run") == []


def test_warnings_are_one_line_each_and_say_how_to_look_closer(made: Callable[..., Recipe], tmp_path: Path) -> None:
    pairs = [(f"{source} &amp;", target) for source, target in good(2500)]
    first, last = said(made(pairs), tmp_path / "run")
    assert first.startswith("Data: ") and "train.tsv, line 1 has entities" in first and "2,500 such lines" in first
    assert (
        last
        == f"Once training has started, look closer with: dragoman check {tmp_path}/run/recipe.yaml --report page.html"
    )


def test_errors_stop_training_unless_it_is_told_to_go_on(made: Callable[..., Recipe], tmp_path: Path) -> None:
    pairs = [(target, source) for source, target in good(2500)]
    with pytest.raises(CorpusError, match=r"dev\.tsv has its sides swapped.*dragoman check RECIPE.*data\.check=false"):
        check_data(made(pairs), tmp_path / "run", print)
    assert said(made(pairs, "data.check=false"), tmp_path / "run") == []


def test_a_verdict_is_kept_until_a_file_or_a_setting_changes(
    made: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    real = examination.examine
    monkeypatch.setattr(examination, "examine", lambda *given, **named: (calls.append(1), real(*given, **named))[1])
    pairs = [(f"{source} &amp;", target) for source, target in good(2500)]
    first = said(made(pairs), tmp_path / "run")
    assert said(made(pairs), tmp_path / "run") == first and len(calls) == 1
    said(made(pairs, "data.filters.max_words=7"), tmp_path / "run")
    assert len(calls) == 2
    assert said(made(good(2500)), tmp_path / "run") == [] and len(calls) == 3
    (kept,) = [path for path in (tmp_path / ".cache").glob("verdict-*") if "entities" not in path.read_text()]
    kept.write_text("{}")
    assert said(made(good(2500)), tmp_path / "run") == [] and len(calls) == 4


def test_a_kept_verdict_names_no_file_where_it_was_before(made: Callable[..., Recipe], tmp_path: Path) -> None:
    made([(f"{source} &amp;", target) for source, target in good(2500)])
    corpora = [f"data.{part}=[{{tsv: {part}.tsv}}]" for part in ("train", "dev")]
    for root in (tmp_path / "old", tmp_path / "new"):
        root.mkdir()
        for name in ("train.tsv", "dev.tsv"):
            (root / name).write_bytes((tmp_path / name).read_bytes())
        moved = recipe("rnn", "data.target=fr", "data.test=[]", *corpora, f"data.root={root}")
        assert said(moved, tmp_path / "run")[0].startswith(f"Data: {root}/train.tsv, line 1 has entities")


def test_a_verdict_without_languages_for_want_of_room_is_not_kept(
    made: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in (examination, languages):
        monkeypatch.setattr(where, "identifier_missing", lambda: False)
    monkeypatch.setattr(languages, "_model", cache(lambda: None))
    assert said(made(good(2500)), tmp_path / "run") == []
    assert list((tmp_path / ".cache").glob("verdict-*")) == []


def test_a_verdict_on_languages_that_are_not_known_is_kept(made: Callable[..., Recipe], tmp_path: Path) -> None:
    assert said(made(good(2500), "data.source=eng_Latn"), tmp_path / "run") == []
    assert len(list((tmp_path / ".cache").glob("verdict-*"))) == 1


def test_a_cache_that_cannot_be_written_costs_time_alone(made: Callable[..., Recipe], tmp_path: Path) -> None:
    (tmp_path / ".cache").touch()
    assert said(made(good(2500)), tmp_path / "run") == []


def test_the_built_in_corpus_is_known(tmp_path: Path) -> None:
    assert said(recipe("rnn"), tmp_path / "run") == [] and not (tmp_path / ".cache").exists()


def test_a_recipe_limits_lengths_and_weights() -> None:
    given = recipe("transformer", "model.positions=learned", "model.max_positions=40", "training.validate_sentences=70")
    limits = limits_of(given)
    assert limits.positions == (40, 40) and limits.weights is not None and limits.weights > 1000
    assert not limits.by_character and not limits.trained and limits.validated == 70
    assert limits_of(recipe("transformer", "model.start_from={whole: runs/base}")).trained
    assert not limits_of(recipe("transformer", "model.start_from={decoder: runs/base}")).trained


def test_a_vocabulary_is_judged_by_the_corpora_that_were_examined(made: Callable[..., Recipe], tmp_path: Path) -> None:
    own = made(good(2500))
    codec = learn_codec(WordsSettings(kind="words", minimum_count=1), [f"word{number}" for number in range(9000)])
    pairs = check_data(own, tmp_path / "run", print)
    assert pairs == check_data(own, tmp_path / "run", print) == 2500
    heard: list[str] = []
    check_vocabularies(own, (codec, codec), pairs, sized=True, say=heard.append)
    assert [one.partition(" ")[2].partition(" has")[0].partition(" does")[0] for one in heard] == [
        "the vocabulary of the source",
        "the vocabulary of the source",
        "the vocabulary of the target",
        "the vocabulary of the target",
    ]
    heard.clear()
    check_vocabularies(own, (codec, codec), pairs, sized=False, say=heard.append)
    assert len(heard) == 2 and not any("text.size`, 0" in one or "smaller" in one for one in heard)
    heard.clear()
    check_vocabularies(own, (codec, codec), 0, sized=True, say=heard.append)
    assert heard == []


def test_a_vocabulary_is_judged_by_all_corpora(
    made: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in (examination, vocabulary):
        monkeypatch.setattr(where, "TEXTS", 20)
    (tmp_path / "odd.tsv").write_text("wholly unheard\tjamais entendu\n" * 30, encoding="utf-8")
    own = made(good(100), f"data.dev=[{{tsv: {tmp_path / 'dev.tsv'}}}, {{tsv: {tmp_path / 'odd.tsv'}}}]")
    texts = [text for pair in good(300, first=9000) for text in pair]
    codec, heard = learn_codec(WordsSettings(kind="words", minimum_count=1), texts), list[str]()
    check_vocabularies(own, (codec, codec), 100, sized=False, say=heard.append)
    assert len(heard) == 2 and all("of the tokens of the dev corpora" in one for one in heard)


def test_a_fault_that_stops_readers_cannot_be_passed_over(made: Callable[..., Recipe], tmp_path: Path) -> None:
    own = made([(f"one {at}", f"un {at}") for at in range(50)])
    place = own.data.place(own.data.train[0].paths[0], own.data.train[0])
    place.write_text(place.read_text(encoding="utf-8") + "One more.\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="1 tab-separated column") as caught:
        check_data(own, tmp_path / "run", print)
    assert "data.check=false" not in str(caught.value)
