"""The domain that adaptation is measured on, and the table of what it gained."""

import json

from benchmarks.adapt import DEV_PAIRS, LEARN, TEST, lay_out, row, table


def test_dev_is_the_end_of_the_talks_and_test_another_set(tmp_path):
    for name in (*LEARN, TEST):
        for language in ("en", "fr"):
            lines = [f"{name} {language} {number}\u2028more" for number in range(400)]
            (tmp_path / f"{name}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lay_out(tmp_path, tmp_path / "domain")
    read = {
        part: (tmp_path / "domain" / f"{part}.fr").read_text(encoding="utf-8").split("\n")[:-1]
        for part in ("train", "dev", "test")
    }
    assert {part: len(lines) for part, lines in read.items()} == {
        "train": 1600 - DEV_PAIRS,
        "dev": DEV_PAIRS,
        "test": 400,
    }
    assert read["dev"][-1].startswith(f"{LEARN[-1]} fr 399") and read["test"][0].startswith(TEST)


def test_a_row_shows_the_interval_and_the_cost(tmp_path):
    change = {"before": 4.0, "after": 9.5, "difference": 5.5, "low": 5.0, "high": 6.0}
    (tmp_path / "adaptation.json").write_text(json.dumps({"domain": change, "general": change}))
    (tmp_path / "manifest.json").write_text(json.dumps({"cost": {"seconds": 90, "peak_memory": 1_500_000_000}}))
    (tmp_path / "model.safetensors").write_bytes(bytes(2_500_000))
    *_, line = table([row("full", tmp_path)])
    assert line == "| full | 4.0 → 9.5: +5.5 (+5.0 to +6.0) | 4.0 → 9.5: +5.5 (+5.0 to +6.0) | 1.5 | 1,500 | 2.5 |"
