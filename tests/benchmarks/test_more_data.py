"""The table of what synthetic pairs gained."""

import json

from benchmarks.more_data import row, table


def test_a_row_shows_passes_tokens_and_scores(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"cost": {"tokens": 6_000_000}}))
    (tmp_path / "test.json").write_text(json.dumps({"dev.en": {"bleu": {"score": 15.24}, "chrf2": {"score": 34.71}}}))
    records = [{"epoch": 24.0}, {"epoch": 25.0, "loss": 2.0}, {"dev_loss": 3.0}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    *_, line = table([row("the pairs alone", tmp_path)])
    assert line == "| the pairs alone | 25.0 | 6.0 | 15.2 | 34.7 |"
    *_, line = table([row("twice", tmp_path, tmp_path)])
    assert line == "| twice | 25.0 + 25.0 | 12.0 | 15.2 | 34.7 |"
