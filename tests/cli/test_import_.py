"""`dragoman import`."""

from pathlib import Path

from tests.pretrained.folders import write_model
from tests.tiny import dragoman

from dragoman.runs.folder import open_run


def test_the_command_makes_a_run_that_translates(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    found = dragoman("import", folder, "--out", tmp_path / "run")
    assert (found.code, found.lines) == (0, [str(tmp_path / "run")])
    assert "Proved" in found.errors and "family marian" in found.errors
    run = open_run(tmp_path / "run")
    assert run.languages == ("en", "vi") and run.manifest["imported"]["name"] == "opus-mt-en-vi"
    translated = dragoman("translate", tmp_path / "run", "--beam", "1", stdin="I love cats.\n")
    assert translated.code == 0 and len(translated.lines) == 1
