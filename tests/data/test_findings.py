"""What is wrong with a corpus, as values."""

import json

import pytest

from dragoman.data.findings import Collected, Example, Finding, LineFault, refuse, worst_first
from dragoman.errors import CorpusError

FINDING = Finding("entities", "note", "has entities", "resolve them", "a.en", 3, 2, 9, (Example(3, ("a &amp; b",)),))


def test_a_sentence_says_where_what_and_what_to_do() -> None:
    assert FINDING.sentence == "a.en, line 3 has entities (2 such lines of 9); resolve them"
    alone = Finding("x", "error", "has 3 lines but b has 4", "correct it", "a", count=1)
    assert alone.sentence == "a has 3 lines but b has 4; correct it"


def test_a_finding_survives_json() -> None:
    assert Finding.from_table(json.loads(json.dumps(FINDING.table()))) == FINDING
    with pytest.raises(TypeError):
        Finding.from_table({"name": "x", "examples": []})


def test_examples_are_one_line() -> None:
    assert str(Example(7, ("a\nb", "c"))) == r"line 7: 'a\nb' ||| 'c'"
    assert len(str(Example(None, ("x" * 500,)))) < 100


def test_a_reader_refuses_at_the_first_fault() -> None:
    with pytest.raises(CorpusError, match=r"a\.en, line 3 has entities .*; resolve them"):
        refuse(FINDING)
    fault = LineFault("is not JSON", "write JSON").finding("unreadable-object", "a.jsonl", 4)
    assert (fault.sentence, fault.severity) == ("a.jsonl, line 4 is not JSON; write JSON", "error")


def test_findings_of_one_name_and_file_become_one() -> None:
    collected = Collected()
    for line in range(1, 6):
        collected(Finding("bad", "error", "is bad", "mend it", "a", line, examples=(Example(line, ("x",)),)))
    collected(Finding("bad", "error", "is bad", "mend it", "b", 2))
    collected(Finding("line-counts", "error", "has 9 lines", "mend it", "a"))
    first, second, third = collected.findings(9)
    assert (first.line, first.count, first.of, [one.line for one in first.examples]) == (1, 5, 9, [1, 2, 3])
    assert (second.file, second.count) == ("b", 1)
    assert third.of is None


def test_errors_come_first() -> None:
    notes = [
        Finding(name, severity, "", "", "a") for name, severity in (("a", "note"), ("b", "error"), ("c", "warning"))
    ]  # type: ignore[arg-type]
    assert [one.name for one in worst_first(notes)] == ["b", "c", "a"]
