"""`dragoman score`, `evaluate` and `bleu`."""

import json
from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, refusal

from dragoman.inference.translator import Translator

SOURCES = ["I love cats.", "", "This is a book."]
TARGETS = ["Tôi yêu mèo.", "", "Đây là một quyển sách."]


def lines(path: Path, sentences: list[str]) -> Path:
    """Write a text file."""
    path.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write source sentences."""
    return lines(tmp_path / "test.en", SOURCES)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Write their translations."""
    return lines(tmp_path / "test.vi", TARGETS)


def test_score_prints_a_log_probability_for_each_pair(trained: Trained, source, target):
    run = trained("rnn")
    found = [float(line) for line in dragoman("score", run, source, target).lines]
    expected = Translator.load(run).score(SOURCES, TARGETS)
    assert found == pytest.approx([total for total, _ in expected], abs=1e-5)
    assert all(one < 0 for one in found)
    each = [float(line) for line in dragoman("score", run, source, target, "--per-token").lines]
    assert each == pytest.approx([total / tokens for total, tokens in expected], abs=1e-5)


def test_evaluate_prints_one_object(trained: Trained, source, target, tmp_path: Path):
    output = tmp_path / "output.vi"
    found = dragoman("evaluate", trained("transformer"), source, target, "--json", "--output", output)
    (line,) = found.lines
    table = json.loads(line)
    assert list(table) == ["bleu", "chrf", "ter", "sentences", "seconds"]
    assert all(set(table[name]) == {"score", "signature"} for name in ("bleu", "chrf", "ter"))
    assert "version:" in table["bleu"]["signature"]
    assert table["sentences"] == 3
    translations = dragoman("translate", trained("transformer"), stdin=source.read_bytes()).lines
    assert output.read_text(encoding="utf-8").split("\n")[:-1] == translations


def test_evaluate_agrees_with_bleu(trained: Trained, source, target, tmp_path: Path):
    output = tmp_path / "output.vi"
    table = json.loads(dragoman("evaluate", trained("rnn"), source, target, "--json", "--output", output).output)
    other = json.loads(dragoman("bleu", output, target, "--json").output)
    assert list(other) == ["bleu", "chrf", "ter", "sentences"]
    assert other == {name: table[name] for name in other}


def test_evaluate_without_json_shows_scores_and_speed(trained: Trained, source, target):
    found = dragoman("evaluate", trained("rnn"), source, target, "--beam", 1).lines
    assert [line.split()[0] for line in found] == ["BLEU", "chrF2", "TER", "3"]


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
    assert found.errors == "This is line 1 of 2; leave out --explain for the score of all lines together.\n"


def test_an_explanation_is_neither_json_nor_a_comparison(source, target):
    for other in (("--json",), ("--against", source)):
        sentence = refusal("bleu", target, target, "--explain", *other)
        assert sentence.startswith("--explain writes for people, about one output; leave out --json and --against")


def test_tokenised_translations_are_remarked_on_once(tmp_path: Path, target):
    spaced = lines(tmp_path / "spaced", ["a b c d ."] * 150)
    found = dragoman("bleu", spaced, spaced)
    assert found.errors.startswith("150 of 150 translations end in a space and a full stop, as tokenised text does;")
    assert found.errors.count("\n") == 1
    assert dragoman("bleu", spaced, spaced, "--tokenize", "none").errors == ""
    assert dragoman("bleu", target, target).errors == ""


def test_two_outputs_are_compared(source, target):
    table = json.loads(dragoman("bleu", target, target, "--against", source, "--json").output)
    assert set(table["comparison"]) == {"baseline", "difference", "p_value", "signature"}
    assert table["comparison"]["difference"] > 0
    shown = dragoman("bleu", target, target, "--against", source).lines[-1]
    assert shown.startswith(f"against {source}: BLEU")


def test_an_unknown_tokeniser_is_refused(target):
    assert "no tokeniser `13b`; did you mean `13a`?" in refusal("bleu", target, target, "--tokenize", "13b")


def test_files_of_different_lengths_are_refused(trained: Trained, source, target, tmp_path: Path):
    short = lines(tmp_path / "short.vi", TARGETS[:2])
    for command in (
        ("evaluate", trained("rnn"), source, short),
        ("score", trained("rnn"), source, short),
        ("align", trained("rnn"), source, short),
    ):
        assert refusal(*command) == f"{source} has 3 lines but {short} has 2; the files must match line by line"
    assert "has 3 lines but" in refusal("bleu", target, short)
    assert "the files must match" in refusal("bleu", target, target, "--against", short)


def test_swapped_files_are_refused(trained: Trained, source, target):
    for command in ("evaluate", "score", "align"):
        sentence = refusal(command, trained("rnn"), target, source)
        assert sentence == f"{target} looks like `vi`, but this run translates from `en` to `vi`; swap the files"


def test_files_that_cannot_be_read_are_refused(trained: Trained, source, tmp_path: Path):
    run = trained("rnn")
    assert "there is no file" in refusal("evaluate", run, source, tmp_path / "none.vi")
    assert "is a directory" in refusal("evaluate", run, source, tmp_path)
    (tmp_path / "bad.vi").write_bytes(b"good\n\xff\xfe\n")
    assert f"{tmp_path / 'bad.vi'}, line 2 is not UTF-8" in refusal("evaluate", run, source, tmp_path / "bad.vi")
    empty = lines(tmp_path / "empty", [])
    assert "is empty" in refusal("evaluate", run, empty, empty)


def test_an_output_that_cannot_be_written_is_refused(trained: Trained, source, target, tmp_path: Path):
    output = tmp_path / "none" / "output.vi"
    assert f"{output} cannot be written" in refusal("evaluate", trained("rnn"), source, target, "--output", output)
