"""`dragoman fill`."""

import json

from tests.tiny import Trained, dragoman, refusal

MISSION = "I like to play [MASK] football"


def test_the_sentence_of_the_mission_is_filled(trained: Trained) -> None:
    found = dragoman("fill", trained("masked_lm"), MISSION)
    assert (found.code, found.errors) == (0, "")
    sentence, *pieces = found.lines
    assert sentence.startswith("I like to play") and sentence.endswith("football")
    probabilities = [float(line.split()[0]) for line in pieces]
    assert len(pieces) == 5 and probabilities == sorted(probabilities, reverse=True)


def test_blanks_are_numbered_where_there_are_several(trained: Trained) -> None:
    found = dragoman("fill", trained("masked_lm"), "I [MASK] to play [MASK].", "--top", 2)
    assert [line.split()[0] for line in found.lines[1:]] == ["1", "1", "2", "2"]


def test_lines_of_standard_input_are_filled_one_by_one(trained: Trained) -> None:
    run = trained("masked_lm")
    found = dragoman("fill", run, "--top", 0, stdin=f"{MISSION}\nI [MASK] you.\n")
    assert len(found.lines) == 2
    assert found.lines[0] == dragoman("fill", run, MISSION).lines[0]
    stopped = dragoman("fill", run, "--top", 0, stdin=f"{MISSION}\nI love you.\n")
    assert stopped.code == 2 and stopped.lines == found.lines[:1]
    assert stopped.errors.startswith("dragoman: line 2 of standard input has no [MASK] (`I love you.`); write [MASK]")


def test_fillings_as_json_hold_probabilities(trained: Trained) -> None:
    (line,) = dragoman("fill", trained("masked_lm"), MISSION, "--json", "--top", 2).lines
    table = json.loads(line)
    assert set(table) == {"text", "blanks"}
    assert [set(one) for one in table["blanks"][0]] == [{"text", "probability"}] * 2


def test_a_sentence_without_a_blank_is_refused(trained: Trained) -> None:
    sentence = refusal("fill", trained("masked_lm"), "I like to play football")
    assert sentence.startswith("the sentence has no [MASK] (`I like to play football`); write [MASK]")
