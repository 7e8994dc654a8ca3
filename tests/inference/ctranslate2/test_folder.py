"""Folders of exports, and what is refused about them."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import RunError
from dragoman.inference.ctranslate2 import folder
from dragoman.inference.ctranslate2.folder import FORMAT, MANIFEST, open_export

GOOD: dict[str, Any] = {
    "format": 1,
    "files": {},
    "decoding": {},
    "languages": ["en", "vi"],
    "positions": 9,
    "weights": "abc",
    "quantization": "int8",
}


@pytest.mark.parametrize(
    "change",
    [
        {"files": ["model.bin"]},
        {"files": 5},
        {"files": {"a\0b": "0"}},
        {"files": {"/dev/zero": "0"}},
        {"files": {"../model.bin": "0"}},
        {"files": {"": "0"}},
        {"files": {"model.bin": None}},
        {"decoding": None},
        {"languages": "en"},
        {"languages": ["en"]},
        {"positions": "many"},
        {"positions": True},
        {"positions": 0},
        {"weights": 3},
        {"quantization": []},
        pytest.param({"files": {"x" * 300: "0"}}, id="a name that is too long"),
        {"format": None},
        {"format": float("inf")},
    ],
    ids=str,
)
def test_a_manifest_that_no_export_has_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(GOOD | change), encoding="utf-8")
    with pytest.raises(RunError) as caught:
        open_export(tmp_path)
    assert MANIFEST in str(caught.value) and "damaged" in str(caught.value)


def test_a_manifest_that_nests_too_deeply_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(RunError, match="damaged"):
        open_export(tmp_path)


def test_what_is_named_but_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").mkdir()
    (tmp_path / MANIFEST).write_text(json.dumps(GOOD | {"files": {"model.bin": "0"}}), encoding="utf-8")
    with pytest.raises(RunError, match=r"model\.bin is not a file"):
        open_export(tmp_path)


def test_an_export_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(GOOD | {"format": FORMAT + 1}), encoding="utf-8")
    with pytest.raises(RunError, match=rf"format {FORMAT + 1}, newer than the {FORMAT}.*update dragoman"):
        open_export(tmp_path)


def test_a_folder_without_a_manifest_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=rf"is not an export: {MANIFEST} is missing; make one with `dragoman export`"):
        open_export(tmp_path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "model.bin").touch()
    (tmp_path / MANIFEST).write_text(json.dumps(GOOD | {"files": {"model.bin": "0"}}), encoding="utf-8")
    monkeypatch.setattr(folder, "file_checksum", refuse)
    with pytest.raises(RunError, match=r"model\.bin cannot be read \(Permission denied\)"):
        open_export(tmp_path)


def test_only_whole_exports_of_these_weights_are_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "weights_digest", lambda path: "abc")
    for name, change in {"int8": {}, "old": {"weights": "xyz"}, "damaged": {"files": 5}, ".new": {}}.items():
        place = tmp_path / folder.EXPORTS / name
        place.mkdir(parents=True)
        (place / MANIFEST).write_text(json.dumps(GOOD | change), encoding="utf-8")
    assert folder.fresh_exports(tmp_path) == {"int8": tmp_path / folder.EXPORTS / "int8"}
