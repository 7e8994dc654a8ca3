"""Load runs for commands, and report it if that takes long."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import announced

if TYPE_CHECKING:
    from dragoman.inference.translator import Translator


def load_translator(run: Path, *, device: str, **decoding: Any) -> "Translator":
    """Load a run's translator; keyword arguments change decoding settings."""
    with announced(f"Loading {run}"):
        from dragoman.inference.translator import Translator

        return Translator.load(run, device=device, **decoding)
