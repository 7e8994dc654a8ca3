"""Pretrained models are found and read without running anything in them, and what is missing is named."""

import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

from dragoman.errors import ImportModelError
from dragoman.pretrained import folder as reading
from dragoman.pretrained.folder import TensorFiles, cache_folder, name_of, opened, read_config

TENSORS = {"a.weight": torch.arange(6.0).reshape(2, 3), "b.bias": torch.ones(4, dtype=torch.float16)}


class Trap:
    """What runs code when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("trap"),)  # type: ignore[return-value]


def written(place: Path, config: object = None) -> Path:
    """Write a model's folder with its configuration and weights."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.json").write_text(json.dumps({"model_type": "marian"} if config is None else config))
    save_file(TENSORS, place / "model.safetensors")
    return place


def same(found: TensorFiles) -> bool:
    """Tell whether the tensors are those that were written, with their types."""
    return set(found) == set(TENSORS) and all(
        found[name].dtype == tensor.dtype and found[name].equal(tensor) for name, tensor in TENSORS.items()
    )


def sharded(place: Path, ending: str) -> Path:
    """Write the tensors as two files with an index."""
    place.mkdir()
    stem, _, suffix = ending.partition(".")
    names = {name: f"{stem}-{number:05d}-of-00002.{suffix}" for number, name in enumerate(TENSORS, 1)}
    for name, file in names.items():
        if suffix == "bin":
            torch.save({name: TENSORS[name]}, place / file)
        else:
            save_file({name: TENSORS[name]}, place / file)
    (place / f"{ending}.index.json").write_text(json.dumps({"weight_map": names}))
    return place


def test_safetensors_are_read(tmp_path: Path) -> None:
    assert same(TensorFiles(written(tmp_path / "model")))


@pytest.mark.parametrize("ending", ["model.safetensors", "pytorch_model.bin"])
def test_shards_are_read_together(tmp_path: Path, ending: str) -> None:
    assert same(TensorFiles(sharded(tmp_path / "model", ending)))


@pytest.mark.parametrize("zipped", [True, False])
def test_old_files_are_read_as_plain_tensors(tmp_path: Path, zipped: bool) -> None:
    torch.save(TENSORS, tmp_path / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    assert same(TensorFiles(tmp_path))


def test_safetensors_are_preferred(tmp_path: Path) -> None:
    torch.save({"other": torch.ones(1)}, written(tmp_path) / "pytorch_model.bin")
    assert same(TensorFiles(tmp_path))


def test_a_file_that_would_run_code_is_refused_and_runs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"a": Trap()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ImportModelError, match=r"running code in it, .* get the model as model\.safetensors"):
        list(TensorFiles(tmp_path))
    assert not (tmp_path / "trap").exists()


def test_an_old_file_of_other_things_is_refused(tmp_path: Path) -> None:
    torch.save({"state": {"a": torch.ones(1)}}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ImportModelError, match=r"does not hold the tensors"):
        list(TensorFiles(tmp_path))


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("kept", [0, 10, 100])
def test_a_truncated_file_is_named(tmp_path: Path, name: str, kept: int) -> None:
    (torch.save if name.endswith("bin") else save_file)(TENSORS, tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:kept])
    with pytest.raises(ImportModelError, match=rf"{name} is damaged"):
        list(TensorFiles(tmp_path))


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    place = sharded(tmp_path / "model", "model.safetensors")
    (place / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ImportModelError, match=r"lacks 1 of the 2 files of its weights \(first: model-00002-of-00002"):
        TensorFiles(place)


def test_a_shard_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    place = sharded(tmp_path / "model", "model.safetensors")
    save_file(TENSORS, tmp_path / "other.safetensors")
    (place / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a.weight": "../other.safetensors"}})
    )
    with pytest.raises(ImportModelError, match=r"first: \.\./other\.safetensors"):
        TensorFiles(place)


def test_a_folder_without_weights_says_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(ImportModelError, match=r"has no weights \(model\.safetensors or pytorch_model\.bin\);"):
        TensorFiles(tmp_path)
    (tmp_path / "tf_model.h5").touch()
    with pytest.raises(ImportModelError, match=r"only tf_model\.h5"):
        TensorFiles(tmp_path)


@pytest.mark.parametrize(
    ("present", "named"),
    [
        (None, "has no config.json"),
        ("manifest.json", "is a run of Dragoman already"),
        ("adapter_config.json", "holds an adapter .* merge it into its model first"),
        ("model.bin", "is a model of CTranslate2"),
        ("model.npz", "has an .npz of Marian, but no decoder.yml"),
    ],
)
def test_a_folder_without_configuration_says_what_it_is(tmp_path: Path, present: str | None, named: str) -> None:
    if present is not None:
        (tmp_path / present).touch()
    with pytest.raises(ImportModelError, match=named):
        read_config(tmp_path)


def test_a_model_of_ctranslate2_is_recognised_by_its_files_whatever_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    (tmp_path / "config.json").write_text('{"bos_token": "<s>", "layer_norm_epsilon": 1e-05}', encoding="utf-8")
    with pytest.raises(ImportModelError, match=r"is a model of CTranslate2, .*give the model that it was made from"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "marian"}', encoding="utf-8")
    assert read_config(tmp_path) == {"model_type": "marian"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"auto_map": {"AutoModel": "code.Model"}}', "needs Python code of its own"),
        ('{"model_type": "mar', "is damaged"),
        ("[1]", "is damaged"),
        ("[" * 100_000, "is damaged"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ImportModelError, match=named):
        read_config(tmp_path)


def test_an_adapter_beside_a_model_is_not_left_out_in_silence(tmp_path: Path) -> None:
    (written(tmp_path / "model") / "adapter_config.json").write_text("{}")
    with pytest.raises(ImportModelError, match=r"holds an adapter \(adapter_config\.json\)"):
        read_config(tmp_path / "model")


@pytest.mark.parametrize("name", ["model.safetensors", "source.spm", "tokenizer.json"])
def test_a_file_that_git_has_not_fetched_is_named(tmp_path: Path, name: str) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 5\n"
    (written(tmp_path / "model") / name).write_text(pointer)
    with (
        pytest.raises(ImportModelError, match=rf"{name} is a pointer of Git LFS .*; run `git lfs pull`"),
        opened(str(tmp_path / "model")),
    ):
        pass


def test_what_is_not_read_need_not_be_fetched(tmp_path: Path) -> None:
    (written(tmp_path / "model") / "pytorch_model.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
    with opened(str(tmp_path / "model")) as folder:
        assert folder == tmp_path / "model"


def test_the_folder_of_all_versions_in_the_cache_may_be_given(tmp_path: Path) -> None:
    place = tmp_path / "models--Helsinki-NLP--opus-mt-en-vi"
    snapshot = written(place / "snapshots" / "0123abc")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("0123abc")
    with opened(str(place)) as folder:
        assert folder == snapshot
    assert name_of(str(place)) == name_of(str(snapshot)) == "opus-mt-en-vi"


def test_a_version_that_is_not_main_is_taken_if_it_is_the_only_one(tmp_path: Path) -> None:
    place = tmp_path / "models--Helsinki-NLP--opus-mt-en-vi"
    snapshot = written(place / "snapshots" / "0123abc")
    with opened(str(place)) as folder:
        assert folder == snapshot
    written(place / "snapshots" / "4567def")
    with opened(str(place)) as folder:
        assert folder == place  # which one is meant is not known


def test_a_tokeniser_that_is_code_is_refused(tmp_path: Path) -> None:
    own = {"auto_map": {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}}
    (written(tmp_path / "model") / "tokenizer_config.json").write_text(json.dumps(own))
    with pytest.raises(ImportModelError, match=r"needs Python code of its own \(`auto_map` in tokenizer_config\.json"):
        read_config(tmp_path / "model")


def test_what_a_zip_lacks_is_named_by_the_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("opus/README.md", "")
        archive.writestr(".DS_Store", "")
    with pytest.raises(ImportModelError) as caught, opened(str(tmp_path / "model.zip")) as folder:
        read_config(folder)
    assert str(caught.value).startswith(f"{tmp_path / 'model.zip'}/opus has no config.json")


@pytest.mark.parametrize("inside", ["", "opus-mt-en-vi/"])
def test_a_zip_is_unpacked_for_as_long_as_it_is_needed(tmp_path: Path, inside: str) -> None:
    place = written(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for path in place.iterdir():
            archive.write(path, f"{inside}{path.name}")
    with opened(str(tmp_path / "model.zip")) as found:
        assert same(TensorFiles(found)) and read_config(found) == {"model_type": "marian"}
    assert not found.exists()


def test_a_file_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.zip").write_text("no archive")
    with pytest.raises(ImportModelError, match=r"neither a folder nor a \.zip"), opened(str(tmp_path / "model.zip")):
        pass


@pytest.mark.parametrize(
    ("name", "damaged", "said"),
    [
        ("?name", b"\0name", "has no name"),
        ("\u00e9", b"\xc3x", "codec"),
        ("n" * 5000, b"\0" + b"m" * 4999, "directory"),
    ],
    ids=["no name", "no text", "long"],
)
def test_a_zip_with_a_damaged_name_is_refused_in_short(tmp_path: Path, name: str, damaged: bytes, said: str) -> None:
    place = tmp_path / "model.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr(name, "x")
    times = 1 if said == "directory" else -1  # of a long name that of the file alone, and not that of the list
    place.write_bytes(place.read_bytes().replace(name.encode(), damaged, times))
    with pytest.raises(ImportModelError, match=rf"damaged or incomplete \(.*{said}") as caught, opened(str(place)):
        pass
    assert len(str(caught.value)) < 500


def damaged_zip(place: Path, **header: int) -> Path:
    """Write a .zip of a configuration, with entries of its headers changed: the two bytes there, or the method of compression."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", json.dumps({"model_type": "marian"}) * 20)
    content = bytearray(place.read_bytes())
    central = content.index(b"PK\x01\x02")
    for name, value in header.items():
        places = {"flags": (6, central + 8), "method": (8, central + 10), "content": (45,)}[name]
        for at in places:
            content[at : at + 2] = value.to_bytes(2, "little")
    place.write_bytes(content)
    return place


@pytest.mark.parametrize("header", [{"flags": 1}, {"method": 97}, {"content": 0xFFFF}], ids=str)
def test_a_zip_that_cannot_be_unpacked_is_named(tmp_path: Path, header: dict[str, int]) -> None:
    place = damaged_zip(tmp_path / "model.zip", **header)
    with pytest.raises(ImportModelError, match=r"model\.zip is damaged or incomplete \(.+\)"), opened(str(place)):
        pass


def test_a_zip_that_is_larger_than_the_disk_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = damaged_zip(tmp_path / "model.zip")
    monkeypatch.setattr(reading.shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    with pytest.raises(ImportModelError, match=r"holds 480 bytes, and 100 are free.*TMPDIR"), opened(str(place)):
        pass


def test_nothing_in_a_zip_leaves_its_folder(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for name in ("../outside", "/absolute", "config.json"):
            archive.writestr(name, "{}")
        archive.writestr(link, "/etc/hostname")
    with opened(str(tmp_path / "model.zip")) as found:
        assert {path.name for path in found.iterdir()} == {"outside", "absolute", "config.json", "link"}
        assert not (found / "link").is_symlink() and (found / "link").read_text() == "/etc/hostname"
    assert [path.name for path in tmp_path.iterdir()] == ["model.zip"] and not Path("/absolute").exists()


@pytest.mark.parametrize("name", ["Helsinki-NLP/opus-mt-en-vi", "t5-small"])
def test_a_name_is_found_in_the_cache_of_hugging_face(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / f"models--{name.replace('/', '--')}"
    snapshot = written(place / "snapshots" / "0123abc")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("0123abc")
    with opened(name) as found:
        assert found == snapshot


def test_the_cache_is_where_hugging_face_puts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == Path("~/.cache/huggingface/hub").expanduser()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "huggingface" / "hub"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache"


def test_a_name_that_is_not_there_says_what_to_do_without_a_downloader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(reading, "find_spec", lambda _: None)
    with pytest.raises(ImportModelError, match=r"dragoman\[hub\]"), opened("Helsinki-NLP/opus-mt-en-vi"):
        pass


@pytest.mark.parametrize("name", ["runs/models/opus", "./opus", "/no/such/folder"])
def test_a_path_that_is_not_there_is_no_name(name: str) -> None:
    with pytest.raises(ImportModelError, match=r"there is no folder or \.zip"), opened(name):
        pass


def test_a_name_is_downloaded_where_there_is_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def snapshot_download(name: str, *, ignore_patterns: list[str]) -> str:
        asked.append(name)
        if name == "no/network":
            raise OSError("the host is unreachable.\nTry again.")
        assert "*.h5" in ignore_patterns
        return str(written(tmp_path / "downloaded"))

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(reading, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    with opened("own/model") as found:
        assert same(TensorFiles(found))
    with pytest.raises(ImportModelError, match=r"\(the host is unreachable\); copy its folder"), opened("no/network"):
        pass
    assert asked == ["own/model", "no/network"]
