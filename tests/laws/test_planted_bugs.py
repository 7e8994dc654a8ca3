"""Every law can fail: bugs planted on purpose are caught by the law that is there for them."""

from pathlib import Path

import pytest
from tests.laws.planted_bugs import BUGS


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_caught(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    law, plant = BUGS[name]
    law(tmp_path / "sound")
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        law(tmp_path / "broken")


def test_every_law_has_a_planted_bug() -> None:
    assert {name.partition(":")[0] for name in BUGS} == {str(number) for number in range(1, 13)}
