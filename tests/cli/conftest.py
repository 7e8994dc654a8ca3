"""Files that commands read."""

from pathlib import Path

import pytest
from tests.cli.texts import SOURCES, TARGETS, lines


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write source sentences."""
    return lines(tmp_path / "test.en", SOURCES)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Write their translations."""
    return lines(tmp_path / "test.vi", TARGETS)
