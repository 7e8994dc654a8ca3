"""Where a model's first weights come from. That they do is tested in `tests/runs/test_warm_start.py`."""

from pathlib import Path

import pytest

from dragoman.errors import SettingsError
from dragoman.models.start_settings import StartSettings
from dragoman.settings import parse


@pytest.mark.parametrize(
    "given", [{"whole": "a"}, {"encoder": "a"}, {"decoder": "b"}, {"encoder": "a", "decoder": "b"}], ids=str
)
def test_runs_are_told_by_the_part_that_they_give(given: dict[str, str]) -> None:
    assert parse(StartSettings, given).runs == {part: Path(run) for part, run in given.items()}


@pytest.mark.parametrize("given", [{}, {"whole": "a", "encoder": "b"}, {"whole": "a", "decoder": "b"}], ids=str)
def test_either_the_whole_or_parts_are_given(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"`whole`.*`encoder`.*`decoder`"):
        parse(StartSettings, given)
