"""Every file of a run or an export is compared with what was written."""

import json
import shutil
from pathlib import Path

import pytest
from tests.tiny import Trained, with_decoding

from dragoman.data.ledger import LEDGER
from dragoman.errors import RunError, notice_once
from dragoman.inference.ctranslate2.translator import can_be_used
from dragoman.jobs.average import average_run
from dragoman.jobs.shortlist import make_shortlist
from dragoman.jobs.verify import BAD, Finding, verify
from dragoman.runs import integrity


def states(folder: Path) -> dict[str, str]:
    """Return what is true of each file."""
    return {one.path: one.state for one in verify(folder)}


def unlike(folder: Path, state: str = "fine") -> list[Finding]:
    """Return the files that are not fine."""
    return [one for one in verify(folder) if one.state != state]


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    """Copy a run, to be damaged."""
    return shutil.copytree(trained("transformer"), tmp_path / "run")


def test_a_run_as_it_was_written_is_fine(run: Path, tmp_path: Path):
    make_shortlist(run)
    found = states(run)
    assert set(found.values()) == {"fine"}
    assert {
        "checksums.json",
        "manifest.json",
        "training/last.safetensors",
        "metrics.jsonl",
        "shortlist.safetensors",
    } <= set(found)
    assert set(states(average_run(run, 2, tmp_path / "average")).values()) == {"fine"}


@pytest.mark.parametrize(
    "name",
    [
        "metrics.jsonl",
        "manifest.json",
        "target.json",
        "model.safetensors",
        "checkpoints/step-00000010.safetensors",
        LEDGER,
    ],
)
@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
def test_a_damaged_file_is_named_and_all_others_are_fine(run: Path, name: str, how: str):
    content = (run / name).read_bytes()
    middle = len(content) // 2
    if how == "gone":
        (run / name).unlink()
    else:
        rest = bytes([content[middle] ^ 1]) + content[middle + 1 :] if how == "flip" else b""
        (run / name).write_bytes(content[:middle] + rest)
    bad = {one.path: one.state for one in verify(run) if one.state in BAD}
    assert bad == {name: "missing" if how == "gone" else "damaged"}


def test_weights_that_changed_places_are_found(run: Path):
    first, last = sorted((run / "checkpoints").iterdir())
    content = first.read_bytes()
    first.write_bytes(last.read_bytes())
    last.write_bytes(content)
    assert {one.path for one in unlike(run)} == {
        "checkpoints/step-00000010.safetensors",
        "checkpoints/step-00000020.safetensors",
    }
    assert all("its checksum is not that in checksums.json" in one.reason for one in unlike(run))


def test_settings_of_search_may_be_edited_and_others_not(run: Path, tmp_path: Path):
    notice_once.cache_clear()
    edited = with_decoding(run, tmp_path / "edited", beam=7)
    assert [(one.path, one.state) for one in unlike(edited)] == [("recipe.yaml", "edited")]
    path = run / "recipe.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("heads: 2", "heads: 1"), encoding="utf-8")
    (found,) = unlike(run)
    assert (found.path, found.state) == ("recipe.yaml", "damaged") and "`model.heads` is 1, but was 2" in found.reason


def test_what_nobody_recorded_is_unknown(run: Path):
    (run / "notes.txt").write_text("mine", encoding="utf-8")
    (run / "training" / ".last.safetensors.1.partial").touch()
    found = {one.path: one for one in unlike(run)}
    assert {one.state for one in found.values()} == {"unknown"} and len(found) == 2
    assert "left by a process that was killed" in found["training/.last.safetensors.1.partial"].reason


def test_a_run_of_an_earlier_release_is_compared_with_the_checksums_inside_its_files(run: Path):
    (run / LEDGER).unlink()
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    recipe = manifest[integrity.RECIPE]
    rest = {k: v for k, v in manifest.items() if k not in (integrity.RECIPE, integrity.CHECKSUM, integrity.COMPARED)}
    (run / "manifest.json").write_text(json.dumps(integrity.sealed(rest, recipe)), encoding="utf-8")
    assert {name for name, state in states(run).items() if state != "fine"} == {"metrics.jsonl"}
    content = (run / "checkpoints" / "step-00000010.safetensors").read_bytes()
    (run / "checkpoints" / "step-00000010.safetensors").write_bytes(content[:-1])
    assert states(run)["checkpoints/step-00000010.safetensors"] == "damaged"


def test_adapters_are_compared_with_their_base(trained: Trained, run: Path, tmp_path: Path):
    adapters = trained("transformer", f"model.start_from.whole={run}", "model.adapters={}", "training.steps=2")
    copy = shutil.copytree(adapters, tmp_path / "adapters")
    assert states(copy)[str(run / "model.safetensors")] == "fine"
    content = bytearray((run / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (run / "model.safetensors").write_bytes(content)
    (found,) = unlike(copy)
    assert found.state == "damaged" and str(run / "model.safetensors") in found.reason


@pytest.mark.skipif(not can_be_used(), reason="needs CTranslate2")
def test_exports_are_compared_alone_and_in_their_run(run: Path):
    from dragoman.conversion.job import export

    folder, _ = export(run)
    assert set(states(folder).values()) == {"fine"} and "export.json" in states(folder)
    assert set(states(run).values()) == {"fine"} and "exports/ctranslate2-int8/model.bin" in states(run)
    text = (folder / "export.json").read_text(encoding="utf-8")
    (folder / "export.json").write_text(text.replace('"beam": 3', '"beam": 7'), encoding="utf-8")
    assert [(one.path, one.state) for one in unlike(run)] == [("exports/ctranslate2-int8/export.json", "damaged")]
    (folder / "export.json").write_text(text, encoding="utf-8")
    (folder / "model.bin").write_bytes(b"")
    (folder / "source.json").unlink()
    assert {one.path: one.state for one in unlike(folder)} == {"model.bin": "damaged", "source.json": "missing"}


def test_an_export_to_hugging_face_is_compared_too(run: Path):
    from dragoman.pretrained.huggingface import export

    folder, _ = export(run)
    assert set(states(run).values()) == {"fine"} and "exports/huggingface/model.safetensors" in states(run)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    assert [one.path for one in unlike(folder)] == ["config.json"]


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, lambda path: None], ids=["empty", "file", "nothing"])
def test_what_is_no_run_is_refused(tmp_path: Path, make):
    make(tmp_path / "run")
    with pytest.raises(RunError):
        verify(tmp_path / "run")
