"""`dragoman generate`."""

import json
from typing import Any

import pytest
from tests.tiny import Trained, dragoman, refusal

from dragoman.inference.generator import TextGenerator


def test_a_text_is_continued(trained: Trained) -> None:
    run = trained("decoder_only")
    found = dragoman("generate", run, "I like", "--length", 3)
    assert (found.code, found.errors, len(found.lines)) == (0, "", 1)
    assert found.lines[0].startswith("I like")
    several = dragoman("generate", run, "--length", 3, stdin="I like\n\nYou").lines
    assert len(several) == 3 and several[0] == found.lines[0] and several[2].startswith("You")


def test_n_best_continuations_are_numbered_and_ranked(trained: Trained) -> None:
    lines = dragoman("generate", trained("decoder_only"), "--n-best", 2, "--length", 3, stdin="I\nYou\n").lines
    rows = [line.split(" ||| ") for line in lines]
    assert [number for number, _, _ in rows] == ["0", "0", "1", "1"]
    assert float(rows[0][2]) >= float(rows[1][2])


def test_draws_depend_on_the_seed_alone(trained: Trained) -> None:
    def draw(seed: int) -> str:
        options = ("--sample", "--length", 6, "--n-best", 3, "--set", f"seed={seed}")
        return dragoman("generate", trained("decoder_only"), "I like", *options).output

    assert draw(1) == draw(1) != draw(2)


def test_continuations_as_json_hold_scores(trained: Trained) -> None:
    (line,) = dragoman("generate", trained("decoder_only"), "I like", "--json", "--beam", 1).lines
    table = json.loads(line)
    assert set(table) == {"line", "text", "score", "log_prob"} and table["log_prob"] < 0


TRANSLATOR, MASKED, CAUSAL = "a translator", "a masked language model", "a decoder-only language model"


@pytest.mark.parametrize(
    ("command", "kind", "own", "needed", "right"),
    [
        ("translate", "masked_lm", MASKED, TRANSLATOR, "fill"),
        ("translate", "decoder_only", CAUSAL, TRANSLATOR, "generate"),
        ("generate", "masked_lm", MASKED, CAUSAL, "fill"),
        ("fill", "rnn", TRANSLATOR, MASKED, "translate"),
    ],
)
def test_a_run_of_another_kind_is_refused_by_its_name(
    trained: Trained, command: str, kind: str, own: str, needed: str, right: str
) -> None:
    run = trained(kind)
    assert refusal(command, run) == f"{run} is {own}, but {needed} is needed here; use it with `dragoman {right}`"


def test_the_old_name_of_the_command_still_works(trained: Trained) -> None:
    run = trained("decoder_only")
    old = dragoman("continue", run, "I like", "--length", 3)
    assert (old.code, old.output) == (0, dragoman("generate", run, "I like", "--length", 3).output)
    assert old.errors.count("\n") == 1 and "`generate`" in old.errors


@pytest.mark.parametrize("setting", ["shortlist=true", "coverage_penalty=3", "dictionary=words.tsv", "temperature=0.5"])
def test_settings_that_do_not_apply_to_a_continuation_are_refused(trained: Trained, setting: str) -> None:
    sentence = refusal("generate", trained("decoder_only"), "I like", "--set", setting)
    assert f"`decoding.{setting.partition('=')[0]}" in sentence


def test_a_continuation_is_computed_in_the_precision_asked_for(trained: Trained) -> None:
    def log_prob(*options: object) -> float:
        command = ("generate", trained("decoder_only"), "I like", "--length", 6, "--json", *options)
        return float(json.loads(dragoman(*command).output)["log_prob"])

    plain, rounded = log_prob(), log_prob("--set", "precision=bfloat16")
    assert plain != rounded and abs(plain - rounded) < 1


def test_the_length_that_is_asked_for_is_the_limit(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    load, limits = TextGenerator.load, []

    def loaded(*given: Any, **options: Any) -> TextGenerator:
        found = load(*given, **options)
        limits.append(found.settings.limit(2))
        return found

    monkeypatch.setattr(TextGenerator, "load", loaded)
    for given in (("--length", 70), ("--length", 3), ("--length", 70, "--set", "maximum_extra=5")):
        assert dragoman("generate", trained("decoder_only"), "I like", *given).code == 0
    assert limits == [70, 3, 9]
