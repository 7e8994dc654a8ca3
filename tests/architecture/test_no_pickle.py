"""Nothing that is read from a file can run code."""

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, Source, dotted, planted, sources, violations

MODULES = frozenset({"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"})
BUILTINS = frozenset({"eval", "exec", "compile", "__import__"})
CALLS = frozenset(
    {"torch.load", "torch.save", "torch.hub.load", "torch.jit.load", "pandas.read_pickle"}
    | {f"yaml.{name}" for name in ("load", "load_all", "unsafe_load", "unsafe_load_all", "full_load", "full_load_all")}
)
PLAIN_TENSORS = "pretrained/folder.py"
"""The one file that may call torch.load, for old weights of other toolkits: with `weights_only=True`, so no code is run."""


def nothing_runs_what_it_reads(source: Source) -> Iterator[str]:
    """Find pickle and its kin, code made from text, and loaders that can call any function."""
    for node in source.nodes:
        if isinstance(node, ast.Call):
            yield from _call(source, node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from _import(source, node)


def _call(source: Source, node: ast.Call) -> Iterator[str]:
    """Find calls that run what they read."""
    name = dotted(node.func)
    plain = name == "torch.load" and str(source.path) == PLAIN_TENSORS and _reads_only_weights(node)
    if name in BUILTINS | CALLS and not plain:
        yield source.at(node, f"{name} can run code from a file")
    if any(keyword.arg == "allow_pickle" and not _is_false(keyword.value) for keyword in node.keywords):
        yield source.at(node, f"{name} allows pickle")


def _import(source: Source, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Find imports that lead to such calls under another name."""
    module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        full = f"{module}.{alias.name}" if module else alias.name
        if full.partition(".")[0] in MODULES or full in CALLS:
            yield source.at(node, f"{full} can run code from a file")


def _reads_only_weights(node: ast.Call) -> bool:
    """Tell whether a call says `weights_only=True`."""
    given = (keyword.value for keyword in node.keywords if keyword.arg == "weights_only")
    return any(isinstance(value, ast.Constant) and value.value is True for value in given)


def _is_false(node: ast.expr) -> bool:
    """Tell whether an expression is the word False."""
    return isinstance(node, ast.Constant) and node.value is False


def test_nothing_runs_what_it_reads():
    found = violations(nothing_runs_what_it_reads, sources(PACKAGE))
    assert not found, found


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "import joblib.memory",
        "from pickle import loads",
        "from torch import load",
        "from yaml import full_load",
        "torch.load(path, weights_only=True)",
        "torch.save(state, path)",
        "yaml.load(text, Loader=yaml.Loader)",
        "numpy.load(path, allow_pickle=True)",
        "eval(text)",
        "exec(text)",
    ],
)
def test_code_from_a_file_is_found(text):
    assert len(list(nothing_runs_what_it_reads(planted(text)))) == 1


@pytest.mark.parametrize(
    ("text", "findings"),
    [("weights_only=True", 0), ("weights_only=False", 1), ("weights_only=plain", 1), ("mmap=True", 1)],
)
def test_old_weights_are_read_as_plain_tensors_only(text, findings):
    source = planted(f"torch.load(path, {text})", PLAIN_TENSORS)
    assert len(list(nothing_runs_what_it_reads(source))) == findings


@pytest.mark.parametrize(
    "text",
    [
        "model.eval()",
        "yaml.safe_load(text)",
        "re.compile(pattern)",
        "numpy.load(path, allow_pickle=False)",
        "safetensors.torch.load_file(path)",
        "json.load(file)",
    ],
)
def test_plain_data_is_fine(text):
    assert list(nothing_runs_what_it_reads(planted(text))) == []
