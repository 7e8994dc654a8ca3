"""`dragoman aer`."""

import json
from pathlib import Path

import pytest
from tests.tiny import dragoman

ENGLISH = "I love cats .\n\nThis is a book .\n"
VIETNAMESE = "Tôi yêu mèo .\n\nĐây là sách .\n"
GOLD = "0-0 1-1 2-2\n\n0-0 1p1 3-2\n"


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Write a text, its translation, and its gold links."""
    paths = (tmp_path / "a.en", tmp_path / "a.vi", tmp_path / "a.gold")
    for path, text in zip(paths, (ENGLISH, VIETNAMESE, GOLD), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_the_error_rate_is_printed(texts: tuple[Path, ...], tmp_path: Path):
    (tmp_path / "found").write_text("0-0 1-1 3-3\n\n0-0 1-1\n", encoding="utf-8")
    found = dragoman("aer", tmp_path / "found", texts[2])
    assert found.lines == ["AER 0.3000  precision 0.8000  recall 0.6000  3 pairs"]
    kept = dragoman("aer", tmp_path / "found", texts[2], "--words-only", *texts[:2], "--json")
    assert json.loads(kept.output) == {"error_rate": 0.2222, "precision": 1.0, "recall": 0.6, "pairs": 3}
