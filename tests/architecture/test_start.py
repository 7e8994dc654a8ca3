"""Starting is quick: what is heavy is imported when it is needed."""

import os
import subprocess
import sys

from tests.architecture.source import PACKAGE, ROOT, sources

HEAVY = ("torch", "matplotlib", "sacrebleu", "pyarrow", "sentencepiece", "transformers", "tensorboard")


def imported_by(*modules: str) -> set[str]:
    """Return the heavy modules that a fresh interpreter holds after it imported `modules`."""
    code = f"import sys, {', '.join(modules)}; print(*(name for name in {HEAVY} if name in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_heavy():
    assert imported_by("dragoman") == set()


def test_text_and_metrics_work_without_torch():
    paths = [source.path for source in sources(f"{PACKAGE}/text", f"{PACKAGE}/metrics")]
    modules = {"dragoman." + ".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths}
    assert "torch" not in imported_by("dragoman", *sorted(modules))


def test_a_heavy_import_is_found():
    assert "torch" in imported_by("dragoman.tree")
