"""An export translates text as its run does, and refuses what it cannot do."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tiny import Trained

from dragoman.conversion.job import export
from dragoman.decoding.hypotheses import Hypothesis
from dragoman.errors import InputError, SettingsError
from dragoman.inference.ctranslate2.folder import open_export
from dragoman.inference.ctranslate2.translator import ExportedTranslator, can_be_used, load_export, run_settings
from dragoman.inference.translator import Translator

SOURCES = ["I love cats.", "", "The cat sits on the mat near the old school.", "No.", "This is a book."]


@pytest.fixture(scope="module")
def run(trained: Trained) -> Path:
    """A run that can be exported."""
    return trained("transformer")


@pytest.fixture(scope="module")
def folder(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of the run, in the same numbers."""
    made, _ = export(run, tmp_path_factory.mktemp("exports") / "out", quantization="float32")
    return made


@pytest.fixture
def translator(folder: Path) -> ExportedTranslator:
    """The export, loaded with the settings of its run."""
    return load_export(open_export(folder), {})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"beam": 5, "n_best": 3, "stopping": "full", "minimum_length": 0},
        {"method": "greedy"},
        {"length_penalty": 0.3},
    ],
    ids=str,
)
def test_an_export_translates_as_its_run_does(run: Path, folder: Path, settings: dict[str, object]) -> None:
    own, other = Translator.load(run, **settings), load_export(open_export(folder), settings)
    for one, two in zip(own.translate(SOURCES), other.translate(SOURCES), strict=True):
        assert [a.text for a in (one, *one.alternatives)] == [b.text for b in (two, *two.alternatives)]
        assert two.score == pytest.approx(one.score, abs=1e-4)
        assert two.log_prob == pytest.approx(one.log_prob, abs=1e-4)


def test_several_translations_are_different_texts_filled_up_from_the_beam(
    translator: ExportedTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = translator.target
    monkeypatch.setattr(codec, "decode", lambda ids: str(ids[0]))
    known = [Hypothesis(ids, -1.0, -1.0) for ids in ([7, 8], [7, 9], [9], [7], [8])]
    monkeypatch.setattr(translator.engine, "search", lambda _, settings: [known[: settings.n_best]])
    for wanted, written in ((1, ["7"]), (2, ["7", "9"]), (3, ["7", "9", "8"]), (4, ["7", "9", "8"])):
        (best,) = translator.translate(["A cat."], beam=5, n_best=wanted)
        assert [one.text for one in (best, *best.alternatives)] == written


def test_settings_hold_for_one_call(folder: Path, translator: ExportedTranslator) -> None:
    before = translator.translate(SOURCES)
    greedy = load_export(open_export(folder), {"method": "greedy"})
    assert translator.translate(SOURCES, method="greedy") == greedy.translate(SOURCES)
    assert translator.translate(SOURCES, settings=greedy.settings) == greedy.translate(SOURCES)
    assert translator.translate(SOURCES) == before


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"method": "sample"}, "`decoding.method: sample`"),
        ({"coverage_penalty": 0.1}, "`decoding.coverage_penalty`"),
        ({"no_repeat_ngram": 3}, "`decoding.no_repeat_ngram` with a beam with"),
    ],
    ids=str,
)
def test_a_search_that_ctranslate2_has_not_is_refused_when_loading_and_when_translating(
    folder: Path, translator: ExportedTranslator, asked: dict[str, object], named: str
) -> None:
    for use in (
        lambda: load_export(open_export(folder), asked),
        lambda: translator.translate(SOURCES, **asked),
    ):
        with pytest.raises(InputError) as refused:
            use()
        assert named in str(refused.value) and "--engine torch" in str(refused.value)


def test_attention_is_refused(translator: ExportedTranslator) -> None:
    for asked in ({"attention": True}, {"replace_unknowns": True}):
        with pytest.raises(InputError, match=r"attention.*--engine torch"):
            translator.translate(SOURCES, **asked)


def test_what_an_export_fixes_cannot_be_changed(folder: Path, tmp_path: Path) -> None:
    exported, words = open_export(folder), tmp_path / "words.tsv"
    words.write_text("cat\tmèo\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"`precision: bfloat16`.*--quantization"):
        load_export(exported, {"precision": "bfloat16"})
    with pytest.raises(InputError, match=r"`dictionary`.*--engine torch"):
        load_export(exported, {"dictionary": words})
    assert load_export(exported, {"precision": "auto"}).settings.precision == "auto"


def test_sentences_are_counted_from_the_number_given(folder: Path) -> None:
    exported = open_export(folder)
    translator = load_export(replace(exported, manifest={**exported.manifest, "positions": 64}), {})
    with pytest.raises(
        InputError, match=r"12 has .* tokens .*, more than the 64 tokens that an export takes; .*`--engine torch RUN`"
    ):
        translator.translate(["cats", "cats " * 70], first=11)


def test_no_sentence_is_read_with_those_before_it(translator: ExportedTranslator) -> None:
    assert translator.preceding(SOURCES, ["a"] * len(SOURCES)) == [[]] * len(SOURCES)
    assert translator.remarks(["a" * 9999]) == []


def test_a_recipe_says_how_to_decode_and_is_laid_over(run: Path) -> None:
    assert run_settings(run, {}) == Translator.load(run).settings
    assert run_settings(run, {"beam": 7}).beam == 7
    with pytest.raises(SettingsError, match="did you mean `beam`"):
        run_settings(run, {"beem": 7})


@pytest.mark.parametrize("found", [None, object()])
def test_ctranslate2_can_be_used_where_it_is_installed(monkeypatch: pytest.MonkeyPatch, found: object) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found if name == "ctranslate2" else 1 / 0)
    assert can_be_used() == (found is not None)


def test_sentences_may_come_one_by_one_but_a_single_one_is_refused(translator: ExportedTranslator) -> None:
    assert translator.translate(iter(SOURCES)) == translator.translate(SOURCES)
    with pytest.raises(InputError, match=r"'No\.' is one text"):
        translator.translate("No.")
