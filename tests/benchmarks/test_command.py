"""Dragoman's command line, run from the working tree."""

import os
import subprocess
import sys

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


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="threads cannot be bound here")
def test_a_process_is_bound_to_a_core_with_one_thread():
    core = max(os.sched_getaffinity(0))
    says = "import os, torch; from benchmarks.command import bind_to; bind_to(int(os.environ['CORE'])); "
    says += "print(os.sched_getaffinity(0), torch.get_num_threads())"
    given = {**os.environ, "OMP_NUM_THREADS": "2", "CORE": str(core), "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.check_output([sys.executable, "-c", says], env=given, text=True).strip() == f"{{{core}}} 1"
