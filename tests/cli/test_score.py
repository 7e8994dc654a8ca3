"""`dragoman score`."""

from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman

from dragoman.inference.translator import Translator

SOURCES = ["I love cats.", "", "This is a book."]
TARGETS = ["Tôi yêu mèo.", "", "Đây là một quyển sách."]


def lines(path: Path, sentences: list[str]) -> Path:
    """Write a text file."""
    path.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write source sentences."""
    return lines(tmp_path / "test.en", SOURCES)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Write their translations."""
    return lines(tmp_path / "test.vi", TARGETS)


def test_score_prints_a_log_probability_for_each_pair(trained: Trained, source, target):
    run = trained("rnn")
    found = [float(line) for line in dragoman("score", run, source, target).lines]
    expected = Translator.load(run).score(SOURCES, TARGETS)
    assert found == pytest.approx([total for total, _ in expected], abs=1e-5)
    assert all(one < 0 for one in found)
    each = [float(line) for line in dragoman("score", run, source, target, "--per-token").lines]
    assert each == pytest.approx([total / tokens for total, tokens in expected], abs=1e-5)
