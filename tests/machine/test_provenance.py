"""What numbers depend on beside the recipe."""

import subprocess
from pathlib import Path

import pytest
import torch

from dragoman.machine import provenance


@pytest.mark.parametrize(("changed", "name"), [("", "0123456789"), (" M src/a.py", "0123456789+")])
def test_a_commit_with_changes_has_a_plus(monkeypatch: pytest.MonkeyPatch, changed: str, name: str) -> None:
    said = {"rev-parse": "0123456789", "status": changed}
    monkeypatch.setattr(provenance, "_git", lambda *arguments: said[arguments[0]])
    assert provenance.commit() == name


@pytest.mark.parametrize("error", [OSError(), subprocess.CalledProcessError(128, "git")])
def test_outside_of_git_the_commit_is_unknown(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(*arguments: str) -> str:
        raise error

    monkeypatch.setattr(provenance, "_git", refuse)
    assert provenance.commit() == "unknown"


def test_git_is_asked_in_the_folder_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "SOURCE", tmp_path)
    assert provenance.commit() == "unknown"


def test_the_machine_and_the_versions_are_named() -> None:
    assert " cores" in provenance.machine()
    found = provenance.versions()
    assert found["torch"] == torch.__version__ and set(found) == {"dragoman", "torch", "python", "machine"}
