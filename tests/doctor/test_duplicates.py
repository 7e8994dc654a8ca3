"""Pairs that were seen before."""

from pathlib import Path

import pytest
from tests.doctor.conftest import Examined, good

from dragoman.data.settings import DataSettings, FilterSettings
from dragoman.doctor.chunk import Side
from dragoman.doctor.cleaning import Cleaning
from dragoman.doctor.duplicates import both
from dragoman.doctor.examine import examine
from dragoman.doctor.sizes import Limits
from dragoman.settings import parse


def test_copies_of_pairs_are_found(examined: Examined) -> None:
    pairs = good(5000)
    found = examined([*pairs, *pairs[:40]])
    assert [(one.name, one.line, one.count, one.severity) for one in found] == [("duplicate", 5001, 40, "note")]


def test_pairs_that_differ_in_case_and_marks_are_near_copies(examined: Examined) -> None:
    pairs = good(300)
    changed = [(source.upper(), f"{target} !") for source, target in pairs[:5]]
    found = examined([*pairs, *changed])
    assert [(one.name, one.count) for one in found] == [("near-duplicate", 5)]


def test_sources_with_several_translations_are_counted(examined: Examined) -> None:
    pairs = good(300)
    found = examined([*pairs, (pairs[3][0], pairs[200][1])])
    assert [(one.name, one.line, one.count) for one in found] == [("repeated-source", 301, 1)]


def test_the_same_corpus_twice_is_a_warning(examined: Examined) -> None:
    pairs = good(300)
    assert [(one.name, one.severity, one.count) for one in examined([*pairs, *pairs])] == [
        ("duplicate", "warning", 300)
    ]


def test_copies_that_training_leaves_out_harm_only_scores(examined: Examined) -> None:
    pairs = good(300) * 2
    limits = Limits(FilterSettings(drop_duplicates=True))
    on_dev, trained = examined(pairs, good(300, 900) * 2, limits=limits)
    assert (trained.name, trained.severity) == ("duplicate", "note") and "leaves the copies out" in trained.advice
    assert (on_dev.name, on_dev.severity) == ("duplicate", "warning") and "compare scores" in on_dev.advice


def test_the_hash_of_a_pair_knows_its_sides() -> None:
    one, two = Side(["a", "b"]).codes.hashes
    hashes = both(Side(["a", "b", "a"]).codes.hashes, Side(["b", "a", "b"]).codes.hashes).tolist()
    assert hashes[0] == hashes[2] != hashes[1] and one != two


@pytest.mark.parametrize("second", ["fr", "de"])
def test_translations_into_another_language_repeat_nothing(second: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in good(300)), encoding="utf-8")
    train = [{"tsv": "a.tsv", "languages": ["en", language]} for language in ("fr", second)]
    table = {"source": "en", "target": "fr", "languages": ["en", "fr", "de"], "root": tmp_path, "train": train}
    with Cleaning(tmp_path / "clean") as cleaner:
        found = examine(parse(DataSettings, table), cleaner=cleaner).findings
    names = [one.name for one in found if one.name in ("duplicate", "near-duplicate", "repeated-source")]
    assert names == ["duplicate"] * (second == "fr") and cleaner.kept == 300 * (1 + (second == "de"))
