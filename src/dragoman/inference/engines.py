"""Choose the inference engine: torch, which supports everything, or CTranslate2, which is faster where it applies.

Torch is imported only if needed: importing it takes longer than a small export takes to translate.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from dragoman.errors import InputError, RunError, shell_path
from dragoman.inference.checks import given_paths
from dragoman.inference.ctranslate2.folder import Export, fresh_exports, is_export, open_export
from dragoman.inference.ctranslate2.search import obstacle
from dragoman.inference.ctranslate2.translator import ExportedTranslator, can_be_used, load_export, run_settings

if TYPE_CHECKING:
    from dragoman.inference.translator import Translator

EngineName = Literal["auto", "torch", "ctranslate2"]
"""Name of an inference engine."""


def load_translator(
    *runs: str | Path, engine: EngineName = "auto", attention: bool = False, device: str = "auto", **decoding: Any
) -> "Translator | ExportedTranslator":
    """Load runs, or one export, as a translator; keyword arguments change decoding settings.

    `auto` uses CTranslate2 for an export; for a single run it does so if a float32 export of its current weights is in
    RUN/exports, CTranslate2 is installed, and it supports everything requested with the same meaning. `ctranslate2` uses any
    up-to-date export of the run, the smallest first. `attention` says that translations must include it. InputError or
    RunError say what is unavailable.
    """
    if engine not in get_args(EngineName):
        raise InputError(f"unknown engine `{engine}`; choose auto, torch or ctranslate2")
    folders = given_paths(runs)
    exports = [folder for folder in folders if is_export(folder)]
    if exports:
        if device == "cuda":
            raise InputError(f"{exports[0]} is an export, which translates on the CPU; give the run it was made from")
        return load_export(only_export(folders, exports, engine=engine, attention=attention), decoding)
    if engine != "torch" and len(folders) == 1:
        found = None if device == "cuda" else export_of(folders[0], engine, decoding, attention=attention)
        if found is not None:
            return load_export(found, decoding, run_settings(folders[0], {}))
    elif engine == "ctranslate2":
        raise InputError("CTranslate2 translates with one model at a time; give one export, or `--engine torch`")
    from dragoman.inference.translator import Translator

    return Translator.load(*runs, device=device, **decoding)


def only_export(
    folders: Sequence[Path], exports: Sequence[Path], *, engine: EngineName = "auto", attention: bool = False
) -> Export:
    """Open the only export given. Raises InputError if it does not support what is requested, or is not given alone."""
    if engine == "torch":
        raise InputError(
            f"{exports[0]} is an export for CTranslate2, which torch cannot read; give the run it was made from"
        )
    if len(folders) > 1:
        raise InputError(
            f"{exports[0]} is an export, and exports cannot be combined; give the runs they were made from"
        )
    if attention:
        raise InputError(f"{exports[0]} is an export, which does not provide attention; give the run it was made from")
    _require_installed()
    return open_export(exports[0])


def export_of(run: Path, engine: EngineName, decoding: dict[str, Any], *, attention: bool = False) -> Export | None:
    """Return the export of a run that supports what is requested; None for torch. Raises an error if torch is ruled out."""
    kinds = ("int8", "float32") if engine == "ctranslate2" else ("float32",)
    fresh = fresh_exports(run)
    paths = [fresh[name] for name in kinds if name in fresh]
    if engine == "ctranslate2":
        _require_installed()
        if not paths:
            raise RunError(
                f"{run} has no export of its current weights; make one with `dragoman export {shell_path(run)} --to ctranslate2`"
            )
        if attention:
            raise InputError("CTranslate2 does not provide attention by layer and head; use `--engine torch`")
    elif (
        not paths
        or attention
        or not can_be_used()
        or obstacle(settings := run_settings(run, decoding))
        or settings.precision not in ("float32", "auto")
    ):
        return None
    return open_export(paths[0])


def _require_installed() -> None:
    """Raise InputError if CTranslate2 is not installed."""
    if not can_be_used():
        raise InputError('CTranslate2 is not installed; install it with `pip install "dragoman[fast]"`')
