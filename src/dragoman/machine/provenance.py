"""What results depend on besides the recipe: the commit of the code, and the machine."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

SOURCE = Path(__file__).resolve().parents[3]
"""The repository, unless the package is installed elsewhere."""


def commit() -> str:
    """Return the commit of the code, with a `+` if source files have changed since; `unknown` outside git."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD")
        return f"{name}+" if _git("status", "--porcelain", "--", "src") else name
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> str:
    """Describe the processor, its cores, and the GPU if there is one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return f"{name}, {os.cpu_count()} cores{gpu}, {platform.system()}"


def _git(*arguments: str) -> str:
    """Run git and return its output."""
    return subprocess.run(["git", *arguments], cwd=SOURCE, capture_output=True, text=True, check=True).stdout.strip()


def versions() -> dict[str, Any]:
    """Return the software versions and the machine of a run."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        own = version("dragoman")
    except PackageNotFoundError:
        own = "uninstalled"
    return {
        "dragoman": own,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
    }
