"""Find and read a pretrained model as it is distributed: a folder, a .zip, or a name in the cache of Hugging Face.

Nothing in it is ever executed: weights are read as safetensors or, in old files, by torch's reader of plain tensors.
"""

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import ENOSPC
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dragoman.errors import ImportModelError, shorten
from dragoman.json_files import read_object

CONFIG, TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"
SAFETENSORS, BIN = "model.safetensors", "pytorch_model.bin"
CTRANSLATE2 = "model.bin"
"""The weights of CTranslate2."""
FAMILY = "model_type"
"""Entry of a configuration that names the family of the model."""
INDEX = ".index.json"
"""Ending of the file that says which shard holds which tensor."""
ADAPTER = "adapter_config.json"
"""The file that adapters of peft have, alone or beside a model."""
POINTER = b"version https://git-lfs.github.com/spec/"
"""What a file begins with that Git LFS has not fetched."""
LARGEST_POINTER = 1024
"""Such files have fewer bytes."""
CODE = "auto_map"
"""Entry of a configuration whose model or tokeniser is Python code beside it."""
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError)
"""What reading a damaged archive raises."""
UNREAD = ("*.h5", "*.msgpack", "*.ot", "*.onnx", "onnx/*", "*.tflite", "flax_model*", "tf_model*", "rust_model*")
"""Files of a repository that an import does not need."""
KEPT = (".json", ".model", ".spm", ".txt", ".yml", ".md", "")
"""Endings of the files that an imported run keeps, so that it can be handed back: all but weights and code."""


@contextmanager
def opened(source: str) -> Iterator[Path]:
    """Yield the folder of a pretrained model. Raises ImportModelError if there is none.

    `source` is the folder, a .zip (unpacked for as long), or the name of a model in Hugging Face's cache.
    """
    path = Path(source)
    if not path.is_file():
        folder = (_snapshot(path) or path) if path.is_dir() else _cached(source)
        _refuse_pointers(folder)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="dragoman-import-") as place:
        try:
            folder = _unpacked(path, Path(place))
            _refuse_pointers(folder)
            yield folder
        except ImportModelError as error:  # the user knows the archive, not where it was unpacked
            raise ImportModelError(str(error).replace(place, str(path))) from None


def name_of(source: str) -> str:
    """Return the name of a model that `opened` opens.

    >>> name_of("opus-mt-en-vi.zip"), name_of("hub/models--Helsinki-NLP--opus-mt-en-vi/snapshots/0123abc")
    ('opus-mt-en-vi', 'opus-mt-en-vi')
    """
    path = Path(source).absolute()
    cached = next((one.name for one in (path, *path.parents[:2]) if one.name.startswith("models--")), None)
    return path.name.removesuffix(".zip") if cached is None else cached.rpartition("--")[2]


def read_config(folder: Path) -> dict[str, Any]:
    """Read the configuration of a model. Raises ImportModelError if there is none that can be imported."""
    if (folder / ADAPTER).exists():
        raise ImportModelError(
            f"{folder} holds an adapter ({ADAPTER}), which no weights contain; merge it into its model first "
            f"(`merge_and_unload` of peft), and import that without {ADAPTER}"
        )
    if not (folder / CONFIG).exists():
        raise ImportModelError(_no_config(folder))
    if (folder / CTRANSLATE2).exists() and FAMILY not in read_json(folder / CONFIG):
        raise ImportModelError(_of_ctranslate2(folder))
    for name in (CONFIG, TOKENIZER_CONFIG):
        if (folder / name).exists() and CODE in read_json(folder / name):
            raise ImportModelError(
                f"{folder} needs Python code of its own (`{CODE}` in {name}, for `trust_remote_code`), which Dragoman does not "
                "run; give a model of one of the known families"
            )
    return read_json(folder / CONFIG)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. Raises ImportModelError if the file is missing or holds anything else."""
    missing = f"{path} is missing; copy the whole folder of the model"
    return read_object(path, ImportModelError, missing=missing, damaged="download it again")


class TensorFiles(Mapping[str, Tensor]):
    """The tensors of a model by name, each read from its file when it is asked for, so that one at a time is in memory.

    Raises ImportModelError if a file is missing, damaged, or cannot be read without running code.
    """

    def __init__(self, folder: Path) -> None:
        self.files = weight_files(folder)

    def __getitem__(self, name: str) -> Tensor:
        reader = self._readers[name]
        return reader[name] if isinstance(reader, dict) else _tensor(reader, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)

    @cached_property
    def _readers(self) -> dict[str, Any]:
        """What each tensor is read from: an open safetensors file, or the tensors of an old file."""
        readers: dict[str, Any] = {}
        for path in self.files:
            reader = _plain_tensors(path) if path.suffix == ".bin" else _safe(path)
            readers |= dict.fromkeys(reader.keys(), reader)
        return readers


def is_kept(name: str) -> bool:
    """Tell whether an imported run keeps a file of the original.

    >>> is_kept("LICENSE"), is_kept("source.spm"), is_kept("modeling.py"), is_kept("model.safetensors.index.json")
    (True, True, False, False)
    """
    return Path(name).suffix in KEPT and not name.endswith(INDEX)


def weight_files(folder: Path) -> list[Path]:
    """Return the files with the weights of a model, safetensors if there are any. ImportModelError names a missing one."""
    for name in (SAFETENSORS, BIN):
        if (folder / name).exists():
            return [folder / name]
        index = folder / f"{name}{INDEX}"
        if index.exists():
            shards = sorted({str(shard) for shard in read_json(index).get("weight_map", {}).values()})
            missing = [shard for shard in shards if Path(shard).name != shard or not (folder / shard).exists()]
            if missing or not shards:
                raise ImportModelError(
                    f"{folder} lacks {len(missing)} of the {len(shards)} files of its weights (first: "
                    f"{missing[0] if missing else index.name}); copy the whole folder"
                )
            return [folder / shard for shard in shards]
    others = sorted(path.name for path in folder.glob("*") if path.suffix in (".h5", ".msgpack", ".ot", ".onnx"))
    found = f", only {others[0]}, which is in the format of another library" if others else ""
    raise ImportModelError(
        f"{folder} has no weights ({SAFETENSORS} or {BIN}){found}; copy the whole folder of the model"
    )


def _safe(path: Path) -> Any:
    """Open a safetensors file."""
    try:
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError) as error:
        raise damaged(path, error) from None


def _tensor(reader: Any, name: str) -> Tensor:
    """Read one tensor."""
    tensor: Tensor = reader.get_tensor(name)
    return tensor


def _plain_tensors(path: Path) -> dict[str, Tensor]:
    """Read the tensors of an old file, without running any code in it."""
    try:
        table = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except (RuntimeError, EOFError, OSError, ValueError) as error:
        raise damaged(path, error) from None
    except Exception:  # whatever else a file of unknown origin leads to, mostly that it asks to run code
        raise ImportModelError(
            f"{path} is damaged, or can only be read by running code in it, which could do anything on this machine; get the "
            f"model as {SAFETENSORS}"
        ) from None
    if not isinstance(table, dict) or not all(isinstance(value, Tensor) for value in table.values()):
        raise ImportModelError(f"{path} does not hold the tensors of a model; download it again")
    return table


def damaged(path: Path, error: Exception) -> ImportModelError:
    """Describe a file that cannot be read."""
    reason = shorten(str(error).strip().split("\n")[0].rstrip("."))
    return ImportModelError(f"{path} is damaged or incomplete ({reason}); download it again")


def _unpacked(path: Path, place: Path) -> Path:
    """Unpack a .zip into an empty folder; return the folder that holds the model."""
    if not zipfile.is_zipfile(path):
        raise ImportModelError(
            f"{path} is neither a folder nor a .zip; give the folder that holds the model's {CONFIG}"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            size, free = sum(member.file_size for member in archive.infolist()), shutil.disk_usage(place).free
            if size > free:
                raise OSError(ENOSPC, f"it holds {size:,} bytes, and {free:,} are free")
            if not all(member.filename for member in archive.infolist()):
                raise zipfile.BadZipFile("a file in it has no name")
            archive.extractall(place)
    except (*DAMAGE, RuntimeError) as error:  # a RuntimeError if it is encrypted, or compressed in an unknown way
        raise damaged(path, error) from None
    except OSError as error:
        raise ImportModelError(
            f"{path} cannot be unpacked into {place} ({error.strerror}); make room, or choose another place with TMPDIR"
        ) from None
    inner = [found for found in place.iterdir() if not found.name.startswith((".", "__MACOSX"))]
    return inner[0] if len(inner) == 1 and inner[0].is_dir() else place


def _no_config(folder: Path) -> str:
    """Say why a folder without a configuration cannot be imported."""
    if (folder / "manifest.json").exists():
        return f"{folder} is a run of Dragoman already; use it as it is"
    if (folder / CTRANSLATE2).exists():
        return _of_ctranslate2(folder)
    if any(folder.glob("*.npz")):
        return (
            f"{folder} has an .npz of Marian, but no decoder.yml, which names it (`models`) and its vocabularies (`vocabs`); "
            "copy that too, or write it"
        )
    return f"{folder} has no {CONFIG}; give the folder of a model as Hugging Face saves it"


def _of_ctranslate2(folder: Path) -> str:
    """Say why a model of CTranslate2 cannot be imported; it may have a configuration, but one of another kind."""
    return f"{folder} is a model of CTranslate2, which cannot be converted back; give the model that it was made from"


def cache_folder() -> Path:
    """Return the folder in which Hugging Face's libraries keep what they downloaded, following their variables."""
    if found := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(found).expanduser()
    above = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("HF_HOME") or f"{above}/huggingface").expanduser() / "hub"


def _cached(name: str) -> Path:
    """Return the folder of a model by its name: in the cache, or downloaded into it where that is possible."""
    parts = name.split("/")
    if len(parts) > 2 or not all(parts) or name.startswith((".", "~")):
        raise ImportModelError(f"there is no folder or .zip {name}; check the path")
    return _snapshot(cache_folder() / "--".join(["models", *parts])) or _downloaded(name)


def _snapshot(place: Path) -> Path | None:
    """Return the folder of the files of a model, given that of all its versions in the cache; None if it is not there.

    A single version is taken whatever it is called: one that was downloaded by the name of a commit is not `main`.
    """
    reference = place / "refs" / "main"
    if not reference.exists():
        versions = list((place / "snapshots").glob("*/"))
        return versions[0] if len(versions) == 1 else None
    snapshot = place / "snapshots" / reference.read_text(encoding="utf-8").strip()
    return snapshot if snapshot.is_dir() else None


def _refuse_pointers(folder: Path) -> None:
    """Raise ImportModelError for a file that an import reads and Git LFS has not fetched."""
    endings = (".safetensors", ".npz", *([] if any(folder.glob("*.safetensors")) else [".bin"]))
    for path in sorted(folder.iterdir()):
        read = path.is_file() and (is_kept(path.name) or path.suffix in endings)
        if read and path.stat().st_size < LARGEST_POINTER and path.read_bytes().startswith(POINTER):
            raise ImportModelError(
                f"{path} is a pointer of Git LFS in place of the file itself; run `git lfs pull` in {folder}"
            )


def _downloaded(name: str) -> Path:
    """Download a model into the cache, if the package for it is there and a network is."""
    if find_spec("huggingface_hub") is None:
        raise ImportModelError(
            f"there is no folder {name}, and no model of that name in {cache_folder()}; give a folder, or install the downloader "
            'with `pip install "dragoman[hub]"`'
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, ignore_patterns=list(UNREAD)))
    except Exception as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise ImportModelError(
            f"there is no folder {name}, and the model of that name could not be downloaded ({reason}); copy its folder from a "
            "machine with a network, and give that"
        ) from None
