"""`dragoman evaluate`."""

import json
from pathlib import Path

from tests.cli.texts import SOURCES, TARGETS, lines
from tests.tiny import Trained, dragoman, refusal


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


def test_an_ensemble_is_evaluated_as_it_translates(trained: Trained, source, target, tmp_path: Path):
    first, second, output = trained("rnn"), trained("transformer"), tmp_path / "output.vi"
    dragoman("evaluate", first, source, target, "--ensemble", second, "--output", output)
    alone, both = (dragoman("translate", *runs, stdin=source.read_bytes()).lines for runs in ([first], [first, second]))
    assert output.read_text(encoding="utf-8").split("\n")[:-1] == both != alone


def test_evaluate_without_json_shows_scores_and_speed(trained: Trained, tmp_path: Path):
    files = lines(tmp_path / "one.en", SOURCES[:1]), lines(tmp_path / "one.vi", TARGETS[:1])
    *scores, speed = dragoman("evaluate", trained("rnn"), *files, "--beam", 1).lines
    assert [line.split()[0] for line in scores] == ["BLEU", "chrF2", "TER"]
    assert speed.startswith("1 sentence in ") and speed.endswith(" per second")


def test_translations_are_not_written_over_a_file_that_is_read(trained: Trained, source, target, tmp_path: Path):
    terms = lines(tmp_path / "terms.tsv", ["cats\tmèo"])
    for one in (source, target, terms):
        before = one.read_bytes()
        sentence = refusal("evaluate", trained("rnn"), source, target, "--glossary", terms, "--output", one)
        assert sentence == f"{one} is one of the files to read; name another file for what is written"
        assert one.read_bytes() == before


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_translated(
    trained: Trained, source, tmp_path: Path
):
    nowhere = tmp_path / "nowhere" / "output.vi"
    sentence = refusal("evaluate", trained("rnn"), source, tmp_path / "gone.vi", "--output", nowhere)
    assert sentence.startswith(f"{nowhere} cannot be written (")


def test_several_translations_of_a_sentence_are_refused(trained: Trained, source, target):
    sentence = refusal("evaluate", trained("rnn"), source, target, "--set", "n_best=2")
    assert "`decoding.n_best`" in sentence and "`dragoman evaluate`" in sentence


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


def test_the_terms_of_a_glossary_are_counted(trained: Trained, source, target, tmp_path: Path):
    terms = tmp_path / "terms.tsv"
    word = source.read_text(encoding="utf-8").split()[0]
    terms.write_text(f"{word}\tquyển sách\n", encoding="utf-8")
    found = dragoman("evaluate", trained("transformer"), source, target, "--glossary", terms, "--json")
    counts = json.loads(found.output)["terms"]
    assert counts["matched"] == counts["met"] + counts["forced"] + counts["unmet"] > 0
    shown = dragoman("evaluate", trained("transformer"), source, target, "--glossary", terms).output
    assert f"Terms in the source: {counts['matched']};" in shown


def test_a_test_set_of_blank_lines_is_refused(trained: Trained, tmp_path: Path):
    (tmp_path / "blank").write_text("\n \n", encoding="utf-8")
    assert "contains only blank lines" in refusal("evaluate", trained("rnn"), tmp_path / "blank", tmp_path / "blank")
