"""Dragoman's command line, run from the working tree."""

import subprocess

import pytest
from benchmarks.command import dragoman, resume_option, set_options


def test_a_command_reads_its_input_and_its_output_is_returned_or_logged(tmp_path):
    (tmp_path / "reference.txt").write_text("one two three four\n")
    given = ("bleu", "-", str(tmp_path / "reference.txt"))
    assert "100.0" in dragoman(*given, text="one two three four\n")
    log = tmp_path / "log.txt"
    assert dragoman(*given, text="one two three four\n", log=log) == "" and "100.0" in log.read_text()
    with pytest.raises(subprocess.CalledProcessError):
        dragoman("bleu", "-", str(tmp_path / "missing.txt"), log=log)
    assert "missing.txt" in log.read_text()


def test_options_are_repeated_and_what_has_begun_is_resumed(tmp_path):
    assert [*set_options("a=1", "b=2")] == ["--set", "a=1", "--set", "b=2"]
    assert (resume_option(tmp_path), resume_option(tmp_path / "none")) == (["--resume"], [])
