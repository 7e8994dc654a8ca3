"""Starting is quick: what is heavy is imported when it is needed."""

import os
import subprocess
import sys
from pathlib import Path

from tests.architecture.source import PACKAGE, ROOT, sources
from tests.tiny import Trained

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
    assert imported_by("sentencepiece") == {"sentencepiece"}


def loaded_by_command(*arguments: str, stdin: str = "") -> set[str]:
    """Return all modules that a fresh interpreter holds after it ran a command."""
    code = (
        "import sys\nfrom dragoman.cli.main import main\nsys.argv = ['dragoman', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\nprint('\\n#' + ' '.join(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, input=stdin, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("#")[2].split())


def test_help_imports_neither_what_computes_nor_what_draws():
    slow = {*HEAVY, "pydantic", "numpy", "yaml", "rich", "jaxtyping", "ctranslate2"}
    assert loaded_by_command("--help") & slow == set()


def test_translating_with_an_export_does_not_import_torch(trained: Trained, tmp_path: Path):
    from dragoman.conversion.job import export

    folder, _ = export(trained("transformer"), tmp_path / "out")
    loaded = loaded_by_command("translate", str(folder), stdin="I love cats.\n")
    assert "ctranslate2" in loaded
    slow = {*HEAVY, "rich", "jaxtyping", "ctranslate2.specs", "zstandard"} - {
        "sentencepiece"
    }  # which cuts the sentence
    assert loaded & slow == set()


def test_translating_with_torch_leaves_its_compiler_alone(trained: Trained):
    loaded = loaded_by_command("translate", str(trained("transformer")), stdin="No.\n")
    assert "torch" in loaded
    assert loaded & {"torch._dynamo", "sympy"} == set()
