"""A quick look at every part with the peers that need no environment of their own."""

from pathlib import Path

import pytest
from benchmarks.speed.__main__ import PARTS, main


@pytest.mark.slow
def test_a_quick_look_runs_every_part_and_writes_the_page(tmp_path: Path) -> None:
    peers = ["dragoman", "nntransformer", "profiling", "textbook"]
    sizes = ["--rounds", "1", "--seconds-per-turn", "0.1", "--minutes", "0.05", "--own-minutes", "0.05"]
    options = ["--quick", *sizes, "--work", str(tmp_path), "--peer", *peers]
    assert main(options) == 0
    page = (tmp_path / "quick" / "benchmarks.md").read_text(encoding="utf-8")
    assert all(f"<!-- part: {part} -->" in page for part in PARTS if part != "student")  # which needs trained runs
    assert "was skipped" not in page and "Nothing was measured" not in page
    assert "| nn.Transformer |" in page and "| Dragoman, fp32 |" in page
