"""`dragoman fill` and `dragoman continue`."""

import json

import pytest
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
    assert stopped.errors.startswith(
        "dragoman: line 2 of standard input has no [MASK] (`I love you.`); write [MASK] where"
    )


def test_fillings_as_json_hold_probabilities(trained: Trained) -> None:
    (line,) = dragoman("fill", trained("masked_lm"), MISSION, "--json", "--top", 2).lines
    table = json.loads(line)
    assert set(table) == {"text", "blanks"}
    assert [set(one) for one in table["blanks"][0]] == [{"text", "probability"}] * 2


def test_a_sentence_without_a_blank_is_refused(trained: Trained) -> None:
    sentence = refusal("fill", trained("masked_lm"), "I like to play football")
    assert (
        sentence == "the sentence has no [MASK] (`I like to play football`); write [MASK] where a word is to be found"
    )


def test_a_text_is_continued(trained: Trained) -> None:
    run = trained("decoder_only")
    found = dragoman("continue", run, "I like", "--length", 3)
    assert (found.code, found.errors, len(found.lines)) == (0, "", 1)
    assert found.lines[0].startswith("I like")
    several = dragoman("continue", run, "--length", 3, stdin="I like\n\nYou").lines
    assert len(several) == 3 and several[0] == found.lines[0] and several[2].startswith("You")


def test_n_best_continuations_are_numbered_and_ranked(trained: Trained) -> None:
    lines = dragoman("continue", trained("decoder_only"), "--n-best", 2, "--length", 3, stdin="I\nYou\n").lines
    rows = [line.split(" ||| ") for line in lines]
    assert [number for number, _, _ in rows] == ["0", "0", "1", "1"]
    assert float(rows[0][2]) >= float(rows[1][2])


def test_draws_depend_on_the_seed_alone(trained: Trained) -> None:
    def draw(seed: int) -> str:
        options = ("--sample", "--length", 6, "--n-best", 3, "--set", f"seed={seed}")
        return dragoman("continue", trained("decoder_only"), "I like", *options).output

    assert draw(1) == draw(1) != draw(2)


def test_continuations_as_json_hold_scores(trained: Trained) -> None:
    (line,) = dragoman("continue", trained("decoder_only"), "I like", "--json", "--beam", 1).lines
    table = json.loads(line)
    assert set(table) == {"line", "text", "score", "log_prob"} and table["log_prob"] < 0


TRANSLATOR, MASKED, CAUSAL = "a translator", "a masked language model", "a decoder-only language model"


@pytest.mark.parametrize(
    ("command", "kind", "own", "needed", "right"),
    [
        ("translate", "masked_lm", MASKED, TRANSLATOR, "fill"),
        ("translate", "decoder_only", CAUSAL, TRANSLATOR, "continue"),
        ("continue", "masked_lm", MASKED, CAUSAL, "fill"),
        ("fill", "rnn", TRANSLATOR, MASKED, "translate"),
    ],
)
def test_a_run_of_another_kind_is_refused_by_its_name(
    trained: Trained, command: str, kind: str, own: str, needed: str, right: str
) -> None:
    run = trained(kind)
    assert refusal(command, run) == f"{run} is {own}, and here {needed} is needed; use it with `dragoman {right}`"
