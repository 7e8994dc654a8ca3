"""`dragoman verify`."""

import json
import shutil
from pathlib import Path

from tests.tiny import Trained, dragoman, refusal


def test_a_run_is_compared_and_a_damage_is_named(trained: Trained, tmp_path: Path):
    run = shutil.copytree(trained("rnn"), tmp_path / "run")
    found = dragoman("verify", run)
    assert found.code == 0 and "0 damaged or missing" in found.errors
    assert "fine    model.safetensors" in found.lines
    (run / "model.safetensors").write_bytes(b"")
    (run / "source.json").unlink()
    found = dragoman("verify", run)
    assert found.code == 1 and "2 damaged or missing" in found.errors
    assert "missing source.json" in found.lines
    assert [line.split()[1] for line in found.lines if line.startswith("damaged ")] == ["model.safetensors"]
    as_json = dragoman("verify", run, "--json")
    table = json.loads(as_json.output)
    assert as_json.code == 1 and table["intact"] is False
    assert {one["path"] for one in table["files"] if one["state"] != "fine"} == {"model.safetensors", "source.json"}


def test_what_is_no_run_is_refused(tmp_path: Path):
    assert refusal("verify", tmp_path / "none").startswith(f"there is no run folder {tmp_path / 'none'}")
