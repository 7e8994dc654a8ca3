"""The log has one line for each event, and nobody's text in the place of a bug."""

import json

import pytest

from dragoman.serving.log import Log
from dragoman.serving.store import StoreError


def test_lines_are_objects_or_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    Log().write("request", status=200)
    Log("text").write("request", status=200)
    first, second = capsys.readouterr().err.splitlines()
    assert json.loads(first)["status"] == 200 and json.loads(first)["event"] == "request"
    assert second.endswith("request status=200")


def test_a_bug_is_named_by_its_place_and_not_by_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise KeyError("a secret sentence")
    except KeyError as error:
        Log().fault(error, id="7")
    line = capsys.readouterr().err
    assert "secret" not in line
    assert json.loads(line)["kind"] == "KeyError" and "test_log.py" in json.loads(line)["places"][-1]


def test_the_cause_of_a_bug_is_named_without_its_words_and_that_of_a_refusal_with_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cause = ValueError("a secret sentence")
    for error in (RuntimeError("a bug"), StoreError("the database cannot be used")):
        error.__cause__ = cause
        Log().fault(error)
    bug, refusal = (json.loads(line)["cause"] for line in capsys.readouterr().err.splitlines())
    assert (bug, refusal) == ("ValueError", "ValueError: a secret sentence")
