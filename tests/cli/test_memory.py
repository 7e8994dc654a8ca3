"""`dragoman memory`, and `dragoman translate --memory`."""

import json
from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, refusal


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Make a memory of two translations, one from a table and one from standard input."""
    path, table = tmp_path / "m.sqlite", tmp_path / "a.tsv"
    table.write_text("I love cats.\tTôi yêu mèo.\n", encoding="utf-8")
    found = dragoman("memory", path, table, "-", "--from", "en", "--to", "vi", stdin="Cats.\tMèo.\n")
    assert found.code == 0 and "Translations added: 2" in found.errors and found.output == ""
    return path


def test_lines_are_taken_from_a_memory_and_kept_in_it(trained: Trained, memory: Path):
    run = trained("transformer")
    first = dragoman("translate", run, "--memory", memory, stdin="I love  cats.\nIt rains.\n\n")
    assert first.code == 0 and first.lines[0] == "Tôi yêu mèo." and first.lines[2] == ""
    assert "1 of 2 sentences were in the translation memory" in first.errors
    again = dragoman("translate", run, "--memory", memory, "--json", stdin="It rains.\nI love cats!\n")
    exact, near = map(json.loads, again.lines)
    assert (exact["translation"], exact["memory"], exact["score"]) == (first.lines[1], "exact", None)
    assert near["memory"] == "near" and near["near"][0]["translation"] == "Tôi yêu mèo."
    plain = dragoman("translate", run, stdin="I love cats!\n")
    assert near["translation"] == plain.lines[0]


def test_a_glossary_wins_over_what_the_model_translated_before_but_not_over_its_user(
    trained: Trained, memory: Path, tmp_path: Path
):
    run, terms, text = trained("transformer"), tmp_path / "terms.tsv", "It rains.\nCats.\n"
    before = dragoman("translate", run, "--memory", memory, stdin=text).lines
    terms.write_text("rains\tmèo\ncats\tsách\n", encoding="utf-8")
    found = dragoman("translate", run, "--memory", memory, "--glossary", terms, stdin=text)
    assert found.code == 0 and "mèo" not in before[0].lower().split()
    assert "mèo" in found.lines[0].lower() and found.lines[1] == before[1] == "Mèo."
    assert "1 of 2 sentences were in the translation memory" in found.errors
    kept = dragoman("translate", run, "--memory", memory, stdin=text)
    assert kept.lines == found.lines and "2 of 2 sentences" in kept.errors


def test_a_known_translation_has_links_too(trained: Trained, memory: Path):
    found = dragoman("translate", trained("transformer"), "--memory", memory, "--align", stdin="I love cats.\n")
    assert found.code == 0, found.errors
    text, _, links = found.lines[0].partition(" ||| ")
    assert text == "Tôi yêu mèo." and links.count("-") == 3


def test_a_document_is_translated_with_the_same_memory(trained: Trained, memory: Path, tmp_path: Path):
    page, out = tmp_path / "a.md", tmp_path / "b.md"
    page.write_text("# Cats.\n\nI *love* cats.\n", encoding="utf-8")
    found = dragoman("translate", trained("transformer"), page, "-o", out, "--memory", memory, "--json")
    assert json.loads(found.output)["memory"] == 2
    assert out.read_text(encoding="utf-8").replace("*", "").replace("&NoBreak;", "") == "# Mèo.\n\nTôi yêu mèo.\n"
    assert "2 of 2 sentences" in found.errors


def test_lines_and_documents_begin_as_what_is_similar(trained: Trained, memory: Path, tmp_path: Path):
    run, table = trained("rnn", "seed=3"), tmp_path / "b.tsv"
    table.write_text("A b c d e f g h i j.\tĐây là một quyển sách.\n", encoding="utf-8")
    assert dragoman("memory", memory, table, "--from", "en", "--to", "vi").code == 0
    options = ("--memory", memory, "--near", 0.8, "--json")
    found = dragoman("translate", run, *options, stdin="A b c d e f g h i k.\nCats.\n")
    near, exact = map(json.loads, found.lines)
    assert exact["memory"] == "exact" and "prefix" not in exact
    assert near["prefix"] and "Đây là một quyển sách.".startswith(near["prefix"])
    assert near["memory"] == "near" and near["translation"].startswith(near["prefix"])
    assert "1 of 2 sentences" in found.errors and "begin with words from it: 1." in found.errors
    page, out = tmp_path / "a.md", tmp_path / "b.md"
    page.write_text("A b c d e f g h i l.\n", encoding="utf-8")
    written = dragoman("translate", run, page, "-o", out, *options)
    assert json.loads(written.output)["prefixes"] == {"A b c d e f g h i l.": near["prefix"]}, written.errors
    assert out.read_text(encoding="utf-8").startswith(near["prefix"])


def test_mistakes_are_refused(trained: Trained, memory: Path, tmp_path: Path):
    run = trained("transformer")
    for options in (("--n-best", 2), ("--alarms",), ("--rescue",)):
        assert "--memory" in refusal("translate", run, "--memory", memory, *options)
    assert ".sqlite" in refusal("translate", run, "--memory", tmp_path / "a.txt")
    assert "--memory" in refusal("translate", run, "--near", 0.8)
    page = tmp_path / "a.txt"
    page.write_text("a\n", encoding="utf-8")
    for document in ((), (page, "-o", tmp_path / "b.txt")):
        assert "0.75 to 1" in refusal("translate", run, *document, "--memory", memory, "--near", 0.5)
    plain = trained("rnn", "model.decoder=plain", "model.score=additive", "training.steps=1")
    assert "attends" in refusal("translate", plain, "--memory", memory, "--near", 0.8)
    left = trained("transformer", "text.right_to_left=true", "training.steps=1")
    assert "right to left" in refusal("translate", left, "--memory", memory, "--near", 0.8)
    languages = ("--from", "en", "--to", "vi")
    assert "line 1 of standard input" in refusal("memory", memory, "-", *languages, stdin="no tab\n")
    tmx = tmp_path / "a.tmx"
    tmx.write_text(
        '<tmx><body><tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="vi"><seg>b</seg></tuv></tu></body></tmx>'
    )
    assert "only read" in refusal("memory", tmx, tmx, *languages)
    assert "3 from `en` into `vi`" in dragoman("memory", memory, tmx, *languages).errors
