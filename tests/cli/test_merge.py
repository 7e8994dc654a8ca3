"""`dragoman merge`."""

from pathlib import Path

from tests.end_to_end.test_adapters import adapting
from tests.tiny import Trained, dragoman, recipe, refusal

from dragoman.jobs.train import fit


def test_the_folder_is_the_result(trained: Trained, tmp_path: Path) -> None:
    fit(recipe("rnn", *adapting(trained("rnn"))), tmp_path / "adapted")
    found = dragoman("merge", tmp_path / "adapted", "--out", tmp_path / "whole")
    assert (found.code, found.lines) == (0, [str(tmp_path / "whole")])
    assert len(dragoman("translate", tmp_path / "whole", stdin="I love cats.\n").lines) == 1
    assert "has no adapters" in refusal("merge", tmp_path / "whole")
