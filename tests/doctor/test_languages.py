"""Text in the wrong language."""

from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.doctor.conftest import Examined, good
from tests.tiny import room_for

from dragoman.data.corpus import Pair
from dragoman.data.settings import DataSettings
from dragoman.doctor import languages as module
from dragoman.doctor.check import Patient
from dragoman.doctor.chunk import Chunk, Side, chunks
from dragoman.doctor.examine import examine
from dragoman.doctor.languages import Trigrams
from dragoman.settings import parse

RUSSIAN = "Это совсем другая письменность, чем должна быть."


def test_trigrams_tell_the_sides_apart() -> None:
    trigrams = Trigrams(chunks(Pair(source, target, "") for source, target in good(400)))
    english, french = trigrams.scores(Side(["The morning should be bright.", "Le matin devrait travers."])).tolist()
    assert english > 3 and french < -3 and trigrams.pairs == 400
    assert Trigrams([]).scores(Side(["ab", ""])).tolist() == [0, 0]


def test_a_dev_corpus_with_swapped_sides_is_an_error(examined: Examined) -> None:
    dev = [(target, source) for source, target in good(300, first=5000)]
    found = examined(good(600), dev)
    assert [(one.name, one.severity) for one in found] == [("swapped-sides", "error")]
    assert "dev.one has its sides swapped" in found[0].sentence and "swap the two files" in found[0].advice


@pytest.mark.parametrize("swapped", [False, True])
def test_each_direction_has_its_own_sides(swapped: bool, tmp_path: Path) -> None:
    pairs = good(400)
    turned = pairs if swapped else [(target, source) for source, target in pairs]
    corpora = []
    for number, (some, languages) in enumerate(((pairs, ["en", "fr"]), (turned, ["fr", "en"]), (pairs, ["fr", "lo"]))):
        path = tmp_path / f"{number}.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in some), encoding="utf-8")
        corpora.append({"tsv": str(path), "languages": languages})
    data = {"source": "en", "target": "fr", "languages": ["en", "fr", "lo"], "train": corpora}
    found = [one.file for one in examine(parse(DataSettings, data)).findings if one.name == "swapped-sides"]
    assert found == [str(tmp_path / "1.tsv")] * swapped


def test_single_swapped_pairs_are_named(examined: Examined) -> None:
    pairs = good(900)
    pairs[33] = (pairs[33][1], pairs[33][0])
    (found,) = examined(pairs)
    assert (found.name, found.severity, found.line, found.count) == ("swapped-sides", "note", 34, 1)


def test_untranslated_lines_are_named(examined: Examined) -> None:
    pairs = good(900)
    pairs[33] = (pairs[33][0], pairs[500][0])
    (found,) = examined(pairs)
    assert (found.name, found.severity, found.line) == ("other-language", "note", 34)


@pytest.mark.parametrize("languages", [("en", "fr"), ("source", "target")])
def test_another_script_is_found(languages: tuple[str, str], examined: Examined) -> None:
    pairs = good(300)
    pairs[5] = (pairs[5][0], RUSSIAN)
    (found,) = [one for one in examined(pairs, languages=languages) if one.name == "wrong-script"]
    assert (found.line, found.count, found.examples[0].texts) == (6, 1, (RUSSIAN,))


@pytest.mark.parametrize("language", ["ru", "ru_RU"])
def test_a_language_of_another_script_is_a_warning(language: str, examined: Examined) -> None:
    found = [one for one in examined(good(300), languages=("en", language)) if one.name == "wrong-script"]
    assert [(one.severity, one.count) for one in found] == [("warning", 300)]


@pytest.mark.skipif(find_spec("py3langid") is not None, reason="py3langid is installed")
def test_the_missing_identifier_is_noted(examined: Examined) -> None:
    found = [one for one in examined(good(300), every=True) if one.name == "languages-not-identified"]
    assert [(one.severity, one.line) for one in found] == [("note", None)]
    assert "pip install" in found[0].advice


@pytest.mark.skipif(find_spec("py3langid") is None, reason="py3langid is not installed")
def test_an_identifier_finds_swapped_sides_and_other_languages_without_a_second_corpus(examined: Examined) -> None:
    swapped = [(target, source) for source, target in good(300)]
    assert [(one.name, one.severity) for one in examined(swapped)] == [("swapped-sides", "error")]
    other = [one for one in examined(good(300), languages=("en", "de")) if one.name == "wrong-language"]
    assert [(one.severity, "looks like `fr`, not `de`" in one.what) for one in other] == [("warning", True)]
    assert examined(good(300)) == []


@pytest.mark.skipif(find_spec("py3langid") is None, reason="py3langid is not installed")
def test_no_room_for_temporary_files_is_noted(examined: Examined) -> None:
    module._model.cache_clear()
    with room_for(100_000):
        found = [one for one in examined(good(300), every=True) if one.name == "languages-not-identified"]
    module._model.cache_clear()
    assert [(one.severity, "no room for its temporary file" in one.what) for one in found] == [("note", True)]
    assert "TMPDIR" in found[0].advice


@pytest.mark.skipif(find_spec("py3langid") is None, reason="py3langid is not installed")
def test_a_code_may_name_a_region(examined: Examined) -> None:
    swapped = [(target, source) for source, target in good(300)]
    found = examined(swapped, languages=("en-US", "fr_FR"))
    assert [(one.name, one.severity) for one in found] == [("swapped-sides", "error")]
    assert examined(good(300), languages=("en-US", "fr_FR")) == []


@pytest.mark.skipif(find_spec("py3langid") is None, reason="py3langid is not installed")
@pytest.mark.parametrize(
    ("languages", "unknown"), [(("source", "target"), "`source` and `target`"), (("en", "fra_Latn"), "`fra_Latn`")]
)
def test_languages_that_the_identifier_does_not_know_are_noted(
    languages: tuple[str, str], unknown: str, examined: Examined
) -> None:
    found = [
        one for one in examined(good(300), languages=languages, every=True) if one.name == "languages-not-identified"
    ]
    assert [(one.severity, one.line) for one in found] == [("note", None)]
    assert found[0].what.endswith(f"does not know {unknown}") and "--from and --to" in found[0].advice


def test_a_tiny_corpus_is_not_called_swapped(examined: Examined) -> None:
    swapped = [(target, source) for source, target in good(40)]
    assert [one.name for one in examined(swapped)] == []
    found = examined(good(600), [(target, source) for source, target in good(20, first=5000)])
    assert not [one for one in found if one.severity == "error"]


def test_corpora_of_both_directions_are_not_called_swapped(tmp_path: Path) -> None:
    pairs = good(900)
    mixed = [pair if number % 2 else (pair[1], pair[0]) for number, pair in enumerate(pairs)]
    for name, some in (("plain", pairs), ("mixed", mixed), ("turned", [(target, source) for source, target in pairs])):
        text = "".join(f"{source}\t{target}\n" for source, target in some)
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    train = [
        {"tsv": "plain.tsv", "both_ways": True},
        {"tsv": "mixed.tsv"},
        {"tsv": "turned.tsv", "languages": ["fr", "en"]},
        {"tsv": "turned.tsv", "languages": ["de", "en"]},
    ]
    data = {"source": "en", "target": "fr", "root": tmp_path, "train": train}
    found = examine(parse(DataSettings, {**data, "languages": ["en", "fr", "de"]})).findings
    assert not [one for one in found if one.severity == "error"]
    assert {one.file for one in found if one.name == "swapped-sides"} == {str(tmp_path / "mixed.tsv")}


@pytest.mark.parametrize(("first", "windows"), [(0, 16), (module.MANY - 1, 16), (module.MANY, 4)])
def test_after_many_pairs_a_quarter_of_the_windows_is_identified(
    first: int, windows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    known = SimpleNamespace(classify=lambda text: (asked.append(text), ("en", 0.0))[1])
    monkeypatch.setattr(module, "_identifier", lambda _: known)
    check = module.Identified(Patient("train", "train.one", ("a", "b"), ("en", "fr")))
    check.see(Chunk([Pair("a sentence", "a sentence", "")] * 320, first))
    assert len(asked) == 2 * windows
