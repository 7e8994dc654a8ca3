"""BLEU, chrF and TER as commands print them, and what is said of files that look wrong."""

from pathlib import Path
from unicodedata import normalize

import pytest
from tests.cli.texts import SOURCES, lines
from tests.tiny import dragoman

from dragoman.cli.quality import all_scores, print_scores, score_tables


def test_tokenised_translations_are_remarked_on_once(tmp_path: Path, target):
    spaced = lines(tmp_path / "spaced", ["a b c d ."] * 150)
    found = dragoman("bleu", spaced, spaced)
    assert found.errors.startswith("150 of 150 translations ") and "tokenised" in found.errors
    assert found.errors.count("150 of 150") == 1
    assert "tokenised" not in dragoman("bleu", spaced, spaced, "--tokenize", "none").errors
    assert dragoman("bleu", target, lines(tmp_path / "other", SOURCES)).errors == ""


def test_files_that_look_wrong_are_remarked_on(tmp_path: Path, target):
    assert "same as the references" in dragoman("bleu", target, target).errors
    one, other = (lines(tmp_path / name, [f"{name} {i} it is so" for i in range(60)]) for name in ("dog", "cat"))
    assert dragoman("bleu", one, other).errors == ""
    unlike = lines(tmp_path / "unlike", [f"nothing{i} matches" for i in range(60)])
    assert "BLEU is almost 0" in dragoman("bleu", one, unlike).errors


def test_accents_that_are_written_in_another_way_are_remarked_on(capsys: pytest.CaptureFixture[str]) -> None:
    composed = ["Tôi yêu mèo.", "Cô ấy ngủ."]
    apart = [normalize("NFD", line) for line in composed]
    for hypotheses, references in ((composed, [apart]), (apart, [composed]), (composed, [composed, apart])):
        all_scores(hypotheses, references)
        assert "2 of 2 lines of one file have accents apart" in capsys.readouterr().err
    for same in (composed, apart):
        all_scores(same[::-1], [same])
        assert "accents" not in capsys.readouterr().err


def test_scores_are_printed_and_written_in_one_order(capsys: pytest.CaptureFixture[str]) -> None:
    scores = all_scores(["a b c d e", "f g h i k"], [["a b c d x", "f g h i k"]])
    print_scores(scores)
    printed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert printed == ["BLEU", "chrF2", "TER"]
    tables = score_tables(scores)
    assert list(tables) == ["bleu", "chrf", "ter"]
    assert [table["score"] for table in tables.values()] == [round(score.score, 4) for score in scores]
    assert tables["ter"]["score"] < tables["bleu"]["score"]
    assert [table["signature"] for table in tables.values()] == [score.signature for score in scores]
