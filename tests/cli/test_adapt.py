"""`dragoman adapt`."""

from pathlib import Path

import pytest
from tests.jobs.test_mixing import texts
from tests.tiny import Trained, dragoman

from dragoman.jobs.adapt import LARGEST_SHARE, LEAST_SHARE, TRANSLATIONS_SHARE

FEW = ("--set", "training.steps=2", "--set", "training.threads=1")


def test_the_folder_is_the_only_result_and_the_verdict_is_noted(trained: Trained, tmp_path: Path) -> None:
    data, out = texts(tmp_path / "domain"), tmp_path / "run"
    given = ("adapt", trained("transformer"), "--data", data, "--out", out, "--device", "cpu", *FEW)
    found = dragoman(*given)
    assert (found.code, found.lines) == (0, [str(out)]), found.errors
    assert "In the domain the " in found.errors and "In general the " in found.errors
    assert "measured on dev" in found.errors
    again = dragoman(*given, "--resume")
    assert (again.code, again.lines) == (0, [str(out)]), again.errors
    assert len(dragoman("translate", out, stdin="I love cats.\n").lines) == 1


def test_general_text_may_come_from_a_folder(trained: Trained, tmp_path: Path) -> None:
    data, general = texts(tmp_path / "domain"), texts(tmp_path / "general", train=0, dev=7)
    given = ("--data", data, "--general", general, "--mix", "0", "--out", tmp_path / "run", *FEW)
    found = dragoman("adapt", trained("transformer"), *given)
    assert found.code == 0 and "7 sentences" in found.errors, found.errors
    assert "General text is measured on dev" in found.errors


def test_ctrl_c_says_how_to_go_on(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.jobs.adapt.translate_corpora", interrupt)
    monkeypatch.setattr("dragoman.jobs.adapt.fit", interrupt)
    found = dragoman("adapt", trained("rnn"), "--data", texts(tmp_path / "domain"), "--out", tmp_path / "run")
    assert (found.code, found.output) == (130, "")
    assert "--resume" in found.errors and "no run yet" not in found.errors


def test_help_says_which_shares_are_the_default() -> None:
    told = " ".join(dragoman("adapt", "--help").output.split())
    assert f"{LEAST_SHARE} to {LARGEST_SHARE} if they are of a corpus" in told
    assert f"{TRANSLATIONS_SHARE} if the run translates them" in told
