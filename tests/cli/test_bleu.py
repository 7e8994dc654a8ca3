"""`dragoman bleu`."""

import json
from pathlib import Path

import pytest
from tests.cli.texts import SOURCES, lines
from tests.tiny import dragoman, refusal


def test_several_references_count_together(source, target, tmp_path: Path):
    other = lines(tmp_path / "other.vi", SOURCES)
    found = json.loads(dragoman("bleu", source, target, other, "--json").output)
    assert found["bleu"]["score"] == pytest.approx(100)
    assert "nrefs:2" in found["bleu"]["signature"]


def test_bleu_reads_standard_input(target):
    found = dragoman("bleu", "-", target, stdin=target.read_bytes())
    assert found.lines[0].startswith("BLEU 100.00")


def test_bleu_explains_the_first_line_and_sacrebleu_agrees(tmp_path: Path):
    fox = lines(tmp_path / "fox", ["the fast brown fox jumped over the sleepy dog", "another"])
    reference = lines(tmp_path / "reference", ["the quick brown fox jumped over the lazy dog", "another"])
    found = dragoman("bleu", fox, reference, "--explain")
    assert found.lines[0] == "candidate   the fast brown fox jumped over the sleepy dog"
    assert [line for line in found.lines if line.startswith("  p")] == [
        "  p1 = 7/9 = 0.7778",
        "  p2 = 4/8 = 0.5000",
        "  p3 = 3/7 = 0.4286",
        "  p4 = 2/6 = 0.3333",
    ]
    assert found.lines[-2].startswith("BLEU   0.4855 = 1.0000 * (") and found.lines[-2].endswith("written as 48.55")
    assert found.lines[-1].startswith("sacreBLEU says 48.55   (nrefs:1|")
    assert "line 1 of 2" in found.errors and "--explain" in found.errors


def test_an_explanation_is_neither_json_nor_a_comparison(source, target):
    for other in (("--json",), ("--against", source)):
        sentence = refusal("bleu", target, target, "--explain", *other)
        assert all(option in sentence for option in ("--explain", "--json", "--against"))


def test_two_outputs_are_compared(source, target):
    table = json.loads(dragoman("bleu", target, target, "--against", source, "--json").output)
    assert set(table["comparison"]) == {"baseline", "difference", "p_value", "signature"}
    assert table["comparison"]["difference"] > 0
    shown = dragoman("bleu", target, target, "--against", source).lines[-1]
    assert shown.startswith(f"against {source}: BLEU")


def test_an_unknown_tokeniser_is_refused(target):
    assert "no tokeniser `13b`; did you mean `13a`?" in refusal("bleu", target, target, "--tokenize", "13b")


def test_a_comparison_uses_the_metric_that_is_printed(tmp_path: Path):
    upper = lines(tmp_path / "upper", ["The Cat Sat On The Mat", "A Dog Ran To The Old House"])
    worse = lines(tmp_path / "worse", ["the cat sat on a mat", "a dog ran to the new house"])
    reference = lines(tmp_path / "reference", ["the cat sat on the mat", "a dog ran to the old house"])
    options = ("--lowercase", "--tokenize", "char", "--json")
    found = json.loads(dragoman("bleu", upper, reference, "--against", worse, *options).output)
    assert found["bleu"]["score"] == found["chrf"]["score"] == 100
    assert found["comparison"]["baseline"] + found["comparison"]["difference"] == pytest.approx(100)
    assert "case:lc" in found["comparison"]["signature"] and "tok:char" in found["comparison"]["signature"]


def test_standard_input_may_be_one_of_the_files(source, target):
    found = dragoman("bleu", "-", target, "--against", source, stdin=target.read_bytes())
    assert found.lines[0].startswith("BLEU 100.00") and found.lines[-1].startswith(f"against {source}")
    assert "only one of the files" in refusal("bleu", "-", "-", stdin=b"x\n")
