"""Tensors on disk: whole, or refused."""

import errno
import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from dragoman.data.checksums import weights_digest
from dragoman.errors import DamagedError, RunError, TrainingError
from dragoman.training import checkpoint
from dragoman.training.checkpoint import (
    average,
    fill,
    load_tensors,
    load_weights,
    own_tensors,
    save_tensors,
    save_weights,
)

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b.c": torch.tensor([1, 2, 3]), "half": torch.ones(2).bfloat16()}


class Tied(nn.Module):
    """Two layers that share a matrix, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)
        self.second.weight = self.first.weight
        self.register_buffer("seen", torch.tensor([3]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some" / "file.safetensors"


def test_what_is_saved_is_loaded(path: Path) -> None:
    save_tensors(path, TENSORS, {"step": 7, "name": "thử"})
    tensors, about = load_tensors(path)
    assert about == {"step": 7, "name": "thử"}
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype and torch.equal(tensors[name], tensor)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_weights_are_read_by_whoever_reads_other_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tensors(path, {"a": torch.zeros(2)})
    other = path.with_name("other")
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(RunError, match="may not be read by this user"):
        load_tensors(path)


def test_tensors_may_be_views_or_need_gradients(path: Path) -> None:
    tensor = torch.arange(6.0, requires_grad=True).reshape(2, 3).T
    save_tensors(path, {"view": tensor})
    assert torch.equal(load_tensors(path)[0]["view"], tensor)


def test_a_flipped_byte_anywhere_is_noticed(path: Path) -> None:
    save_tensors(path, TENSORS, {"step": 7})
    good = path.read_bytes()
    text = json.loads(good[8 : 8 + struct.unpack("<Q", good[:8])[0]])
    assert "a" in text
    header = good[: 8 + struct.unpack("<Q", good[:8])[0]]
    for offset in range(len(good)):
        if offset < len(header) and header[offset:].strip() == b"":
            continue  # blanks between the header and the tensors say nothing
        for flip in (0x01, 0xFF):
            path.write_bytes(good[:offset] + bytes([good[offset] ^ flip]) + good[offset + 1 :])
            with pytest.raises(RunError, match=r"damaged|newer"):
                load_tensors(path)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_file_cut_short_is_refused(path: Path, share: float) -> None:
    save_tensors(path, TENSORS)
    good = path.read_bytes()
    path.write_bytes(good[: int(share * len(good))])
    with pytest.raises(RunError, match=rf"{path.name} is damaged"):
        load_tensors(path)


def test_a_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(RunError, match=rf"{path.name} is missing; the run is incomplete"):
        load_tensors(path)


def test_a_path_that_is_not_utf8_is_no_damage(path: Path) -> None:
    with pytest.raises(RunError, match=r"its path is not UTF-8 text; rename the folder$") as caught:
        load_tensors(path.parent / "caf\udce9" / path.name)
    assert not isinstance(caught.value, DamagedError)


@pytest.mark.parametrize(("by", "how"), [(1, "newer"), (-1, "older")])
def test_a_file_of_another_format_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch, by: int, how: str) -> None:
    own = checkpoint.FORMAT
    monkeypatch.setattr(checkpoint, "FORMAT", own + by)
    save_tensors(path, TENSORS)
    monkeypatch.setattr(checkpoint, "FORMAT", own)
    with pytest.raises(RunError, match=rf"has format {own + by}, {how} than the {own} that this version reads; "):
        load_tensors(path)


def test_a_file_that_is_something_else_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("These are not tensors, but a sentence long enough to look like a header.")
    with pytest.raises(RunError, match=r"is damaged"):
        load_tensors(path)


def fail(number: int) -> Any:
    def save_file(tensors: Any, path: Path, metadata: Any) -> None:
        path.write_bytes(b"half a file")
        raise OSError(number, "as the system says it")

    return save_file


def test_a_full_disk_leaves_the_old_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tensors(path, TENSORS, {"step": 1})
    monkeypatch.setattr(checkpoint, "save_file", fail(errno.ENOSPC))
    with pytest.raises(TrainingError, match=r"the disk is full; .*checkpoint is kept"):
        save_tensors(path, TENSORS, {"step": 2})
    assert load_tensors(path)[1] == {"step": 1}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_folder_that_cannot_be_written_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "save_file", fail(errno.EACCES))
    with pytest.raises(
        TrainingError, match=r"could not be saved: as the system says it; make room or choose another folder"
    ):
        save_tensors(path, TENSORS)


def test_a_file_in_the_place_of_the_folder_is_told(path: Path) -> None:
    path.parent.write_text("a file")
    with pytest.raises(TrainingError, match=r"could not be saved: "):
        save_tensors(path, TENSORS)


def test_an_interrupted_write_leaves_the_old_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_tensors(path, TENSORS, {"step": 1})

    def interrupted(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_tensors(path, TENSORS, {"step": 2})
    assert load_tensors(path)[1] == {"step": 1}


def test_weights_that_are_shared_are_written_once(path: Path) -> None:
    model = Tied()
    assert set(own_tensors(model)) == {"first.weight", "first.bias", "second.bias", "seen"}
    save_weights(path, model, {"step": 3})
    other = Tied()
    assert load_weights(path, other) == {"step": 3}
    for name, tensor in own_tensors(model).items():
        assert torch.equal(own_tensors(other)[name], tensor)
    assert other.second.weight is other.first.weight


def test_weights_of_another_model_are_refused(path: Path) -> None:
    save_weights(path, nn.Linear(2, 3))
    for other in (nn.Linear(2, 4), nn.Linear(2, 3, bias=False), nn.Sequential(nn.Linear(2, 3))):
        before = {name: tensor.clone() for name, tensor in own_tensors(other).items()}
        with pytest.raises(
            RunError,
            match=r"does not fit the model of its recipe \(first difference: .*\); was recipe.yaml edited",
        ):
            load_weights(path, other)
        assert all(torch.equal(tensor, before[name]) for name, tensor in own_tensors(other).items())


def test_an_average_is_the_mean_of_each_weight(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.safetensors" for number in range(3)]
    tensors = [torch.randn(4, 5) for _ in paths]
    for path, tensor in zip(paths, tensors, strict=True):
        save_tensors(path, {"weight": tensor})
    mean = average(paths)
    assert mean["weight"].dtype == torch.float32
    torch.testing.assert_close(mean["weight"], torch.stack(tensors).mean(0))
    model = nn.Linear(5, 4, bias=False)
    fill(model, mean, tmp_path)
    assert torch.equal(model.weight.detach(), mean["weight"])


def test_an_average_of_different_models_is_refused(tmp_path: Path) -> None:
    for name in ("one", "other"):
        save_tensors(tmp_path / name, {name: torch.zeros(1)})
    with pytest.raises(RunError, match=r"other holds other weights than .*one; average checkpoints of one run"):
        average([tmp_path / "one", tmp_path / "other"])


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.safetensors" for number in range(8)]
    for path in paths:
        save_tensors(path, TENSORS, {"name": "thử", "step": 7})
    assert len({path.read_bytes() for path in paths}) == 1


@pytest.mark.parametrize("written", ["²", "x", "", "-1"])
def test_a_format_that_is_no_number_is_damage(path: Path, written: str) -> None:
    path.parent.mkdir(parents=True)
    save_file(TENSORS, path, {"format": written, "about": "{}"})
    with pytest.raises(RunError, match="is damaged"):
        load_tensors(path)


HOSTILE = {
    "nested deeply": b'{"a":' + b"[" * 100_000,
    "a shape that does not fit into 64 bits": {"a": {"dtype": "F32", "shape": [0, 2**63], "data_offsets": [0, 0]}},
    "a shape that overflows": {"a": {"dtype": "F32", "shape": [2**40, 2**40, 0], "data_offsets": [0, 0]}},
    "beyond the file": {"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}},
    "an odd type": {"a": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [0, 3]}},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_header_that_lies_is_damage(what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    header = HOSTILE[what]
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(3 if "odd" in what else 0))
    assert weights_digest(path) is None
    with pytest.raises(DamagedError, match=r"a\.safetensors is damaged"):
        load_tensors(path)


@pytest.mark.parametrize("length", [2**30, 2**40, 2**63, 2**64 - 1])
def test_a_header_is_no_longer_than_its_file(length: int, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b"{}")
    assert weights_digest(path) is None
    with pytest.raises(DamagedError, match=r"a\.safetensors is damaged"):
        load_tensors(path)


@pytest.mark.parametrize("text", ["", "[", "[]", "5", "[" * 100_000, "1" * 5000], ids=lambda text: text[:3])
@pytest.mark.parametrize("written", ["2", "9" * 5000], ids=lambda text: text[:2])
def test_what_a_file_says_of_itself_is_a_table_even_if_the_checksum_fits(
    text: str, written: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.safetensors"
    save_file(
        TENSORS, path, {"format": written, "about": text, "sha256": checkpoint._digest(TENSORS, f"{written} {text}")}
    )
    with pytest.raises(DamagedError, match=r"a\.safetensors is damaged \(what it says of itself is no table\)"):
        load_tensors(path)


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        make(path)
        assert weights_digest(path) is None
        with pytest.raises(DamagedError, match=r"a\.safetensors is damaged \(.*it is a pipe or a device, not a file"):
            load_tensors(path)
        path.unlink()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1e38])
def test_weights_that_cannot_be_computed_with_are_refused_though_the_file_is_whole(path: Path, bad: float) -> None:
    model = Tied()
    model.first.bias.data[1] = bad
    save_weights(path, model)
    with pytest.raises(RunError) as caught:
        load_weights(path, Tied())
    assert "first.bias" in str(caught.value) and "another checkpoint" in str(caught.value)
