"""The benchmark of reading encodes a corpus, reads it and prints what it has measured."""

from pathlib import Path

import pytest
from benchmarks import input as benchmark


def test_a_small_corpus_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "TOKENS", 400)
    monkeypatch.setattr(benchmark, "VOCABULARY", 300)
    found = benchmark.measure(tmp_path, 300)
    assert found.pairs == 300 and min(found.encoding, found.reading, found.opening, found.planning) > 0
    assert found.stored > found.text > 300 * 10
    assert "| encoded |" in "\n".join(benchmark.report(found))
