"""Tensors on disk: one safetensors file each, written to a temporary file and renamed, with a checksum of its content."""

import errno
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from dragoman.atomic import give_usual_mode, replacing
from dragoman.data.ledger import replacing_recorded
from dragoman.errors import DamagedError, RunError, TrainingError
from dragoman.json_files import parse_json
from dragoman.layers.adapters import Adapters
from dragoman.layers.outline import without_memory
from dragoman.regular_files import is_utf8, require_file

FORMAT = 2
"""Version of run folders and checkpoints. Format 1 had recurrent models with unscaled embeddings, which would translate
nonsense here, so it is refused."""
_VERSION = re.compile("[0-9]{1,9}")
LARGEST_WEIGHT = 1e18
"""Weights of this size or larger are refused: their squares overflow float32."""


def save_tensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, Any] | None = None, *, run: Path | None = None
) -> None:
    """Write tensors and JSON metadata. An interrupted or failed write leaves the old file intact.

    A file of a `run` is recorded in its checksums.

    Equal tensors and metadata give equal bytes. Raises TrainingError if the disk is full or the folder is not writable.
    """
    prepared = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    text = json.dumps(dict(metadata or {}), sort_keys=True)
    header = {"format": str(FORMAT), "about": text, "sha256": _digest(prepared, f"{FORMAT} {text}")}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) if run is None else replacing_recorded(run, path) as temporary:
            save_file(prepared, temporary, header)
            give_usual_mode(temporary)
            _sort_metadata(temporary)
    except (OSError, SafetensorError) as error:
        full = (isinstance(error, OSError) and error.errno == errno.ENOSPC) or "No space left" in str(error)
        reason = "the disk is full" if full else str(getattr(error, "strerror", None) or error)
        kept = "; the previous checkpoint is kept" if path.exists() else ""
        raise TrainingError(f"{path} could not be saved: {reason}{kept}; make room or choose another folder") from None


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote.

    Raises DamagedError if the file is missing, truncated or changed, RunError if it has another format or may not be read.
    """
    if not is_utf8(path):
        raise RunError(f"{path} cannot be opened, since its path is not UTF-8 text; rename the folder")
    try:
        require_file(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a dict
    except FileNotFoundError:
        raise DamagedError(
            f"{path} is missing; the run is incomplete: restore it from an intact copy, or train it again"
        ) from None
    except PermissionError:
        raise RunError(f"{path} may not be read by this user; let it be read, for example with `chmod a+r`") from None
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise DamagedError(f"{path} is damaged ({error}); restore it from an intact copy, or train again") from None
    written = metadata.get("format", "")
    check_format(path, int(written) if _VERSION.fullmatch(written) else FORMAT)
    text = metadata.get("about", "")
    if metadata.get("sha256") != _digest(tensors, f"{written} {text}"):
        raise DamagedError(
            f"{path} is damaged (its checksum does not match); restore it from an intact copy, or train again"
        )
    with suppress(ValueError):
        about = parse_json(text)
        if isinstance(about, dict):
            return tensors, about
    raise DamagedError(
        f"{path} is damaged (what it says of itself is no table); restore it from an intact copy, or train again"
    )


def check_format(path: Path, written: int) -> None:
    """Raise RunError for a run or checkpoint from a newer version, or from an old one whose models computed differently."""
    if written > FORMAT:
        raise RunError(f"{path} has format {written}, newer than the {FORMAT} that this version reads; update dragoman")
    if written < FORMAT:
        raise RunError(
            f"{path} has format {written}, older than the {FORMAT} that this version reads; it is from before release 0.1.0, and "
            "no release reads it: train it again"
        )


def save_weights(path: Path, model: nn.Module, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a model's weights; a tensor shared by several parameters is written once."""
    save_tensors(path, own_tensors(model), metadata)


def load_weights(path: Path, model: nn.Module) -> dict[str, Any]:
    """Load the weights at `path` into `model` and return their metadata. Raises RunError if they are not finite."""
    tensors, metadata = load_tensors(path)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and tensor.numel() and not tensor.abs().max() < LARGEST_WEIGHT:
            raise RunError(
                f"{path} holds weights that are NaN, or too large to compute with (first: {name}); use another checkpoint, or "
                "train again"
            )
    fill(model, tensors, path)
    return metadata


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the model's parameters and buffers by name, shared ones under their first name only."""
    named = dict(model.named_parameters())
    return {name: tensor.detach() for name, tensor in (*named.items(), *model.named_buffers())}


def fill(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy `tensors` into the model, or the adapters of one, in place.

    Raises RunError, which names `path`, if they belong to another model.
    """
    check_fits(model, tensors, path)
    with torch.no_grad():
        for name, tensor in own_tensors(model).items():
            tensor.copy_(tensors[name])
    if isinstance(model, Adapters):
        model.merge()


def check_fits(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Raise RunError if names or shapes of the tensors are not the model's."""
    own = own_tensors(model)
    different = sorted(set(own) ^ set(tensors)) or [n for n in own if own[n].shape != tensors[n].shape]
    if different:
        raise RunError(
            f"{path} does not fit the model of its recipe (first difference: {different[0]}); was recipe.yaml edited?"
        )


def check_outline(build: Callable[[], nn.Module], tensors: Mapping[str, Tensor], path: Path) -> None:
    """Raise RunError if the tensors are not those of the model that `build` makes, before memory is taken for it.

    A recipe that was made to do harm may ask for more than there is.
    """
    try:
        with without_memory():
            model = build()
    except (RuntimeError, OverflowError) as error:
        raise RunError(f"{path} does not fit the model of its recipe ({error}); was recipe.yaml edited?") from None
    check_fits(model, tensors, path)


def average(paths: list[Path]) -> dict[str, Tensor]:
    """Average the weights in several files, one in memory at a time. Raises RunError if they are not from one run."""
    mean: dict[str, Tensor] = {}
    runs = set()
    for count, path in enumerate(paths, 1):
        tensors, metadata = load_tensors(path)
        runs.add(metadata.get("run"))
        if (mean and set(mean) != set(tensors)) or len(runs) > 1:
            raise RunError(f"{path} holds other weights than {paths[0]}; average checkpoints of one run")
        for name, tensor in tensors.items():
            wide = tensor.double()
            mean[name] = wide if count == 1 else mean[name] + (wide - mean[name]) / count
    return {name: tensor.float() for name, tensor in mean.items()}


def _sort_metadata(path: Path) -> None:
    """Sort the metadata in the header of a safetensors file, which the library writes in random order.

    Source of the format: https://huggingface.co/docs/safetensors (8 bytes of length, a JSON header padded by spaces, the data).
    """
    with path.open("r+b") as file:
        length = int.from_bytes(file.read(8), "little")
        header = parse_json(file.read(length))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8").ljust(length)
        if len(text) == length:
            file.seek(8)
            file.write(text)


def _digest(tensors: Mapping[str, Tensor], text: str) -> str:
    """Return a checksum of names, shapes, types and contents."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.reshape(-1).contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()
