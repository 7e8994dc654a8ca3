"""A module imports only its own part and lower layers; the parts of one layer are strangers to one another."""

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, Source, planted, sources, violations

NOUNS = frozenset(
    {
        "interfaces",
        "tree",
        "settings",
        "yaml_subset",
        "json_files",
        "regular_files",
        "errors",
        "lazy",
        "atomic",
        "special_ids",
        "plugins",
        "iso639",
        "tmx",
    }
    | {"machine"}
)
LAYERS: tuple[frozenset[str], ...] = (
    NOUNS,
    frozenset({"attention", "native"}),
    frozenset({"layers", "text"}),
    frozenset({"models", "data", "decoding", "documents", "metrics"}),
    frozenset({"training", "inspection"}),
    frozenset({"runs", "doctor"}),
    frozenset({"inference"}),
    frozenset({"jobs"}),
    frozenset({"arena", "classification", "conversion", "laws", "scaling"}),
    frozenset({"pretrained", "serving"}),
    frozenset({"cli"}),
    frozenset({"__init__", "__main__"}),
)
"""From the bottom up. `__init__` is the package itself: it gathers the public names, so nothing may import from it."""

WITHOUT_TORCH = frozenset({"text", "metrics", "documents"})
PACKAGE_NAME = "dragoman"


def part_of(source: Source) -> str:
    """Return the folder, or the lone module, of the package that a source belongs to."""
    return source.path.parts[0].removesuffix(".py")


def layer_of(part: str) -> int:
    """Return the number of the layer of `part`; -1 where it has none."""
    return next((number for number, parts in enumerate(LAYERS) if part in parts), -1)


def absolute(source: Source, node: ast.ImportFrom) -> str:
    """Return the full name of the module that `node` imports from."""
    if node.level == 0:
        return node.module or ""
    folders = [PACKAGE_NAME, *source.path.parts[:-1]]
    above = folders[: len(folders) - node.level + 1]
    return ".".join(above + ([node.module] if node.module else []))


def modules(source: Source) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the full name of each module imported, wherever in the file the import stands."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = absolute(source, node)
            if name == PACKAGE_NAME:
                known = {alias.name if layer_of(alias.name) >= 0 else "__init__" for alias in node.names}
                yield from ((node, f"{name}.{part}") for part in sorted(known))
            else:
                yield node, name


def imports_point_down(source: Source) -> Iterator[str]:
    """Find imports of higher layers, of strangers in the same layer, and parts that stand in no layer."""
    here = part_of(source)
    if layer_of(here) < 0:
        yield source.at(source.tree, f"`{here}` stands in no layer; add it to LAYERS")
    for node, name in modules(source):
        root, _, rest = name.partition(".")
        there = rest.partition(".")[0] or "__init__"
        allowed = there == here or {here, there} <= NOUNS or 0 <= layer_of(there) < layer_of(here)
        if root == PACKAGE_NAME and not allowed:
            yield source.at(node, f"{here} imports {there}")


def text_knows_no_torch(source: Source) -> Iterator[str]:
    """Find imports of torch, and of nouns made of tensors, where there should be only text."""
    tensors = {"torch", *(f"{PACKAGE_NAME}.{noun}" for noun in ("interfaces", "tree", "machine"))}
    if part_of(source) in WITHOUT_TORCH:
        for node, name in modules(source):
            if name.partition(".")[0] in tensors or ".".join(name.split(".")[:2]) in tensors:
                yield source.at(node, f"{part_of(source)} imports {name}")


def test_imports_point_down():
    found = violations(imports_point_down, sources(PACKAGE))
    assert not found, found


def test_what_is_text_alone_does_not_know_torch():
    found = violations(text_knows_no_torch, sources(PACKAGE))
    assert not found, found


@pytest.mark.parametrize(
    ("path", "text", "finding"),
    [
        ("attention/a.py", "from dragoman.models.rnn import Rnn", "1: attention imports models"),
        ("attention/a.py", "import dragoman.layers.embedding as e", "1: attention imports layers"),
        ("attention/a.py", "from dragoman.native.recurrence import run_fused", "1: attention imports native"),
        ("attention/a.py", "import torch\ndef f():\n    from dragoman.text import codec", "3: attention imports text"),
        ("text/a.py", "if TYPE_CHECKING:\n    from dragoman.data import corpus", "2: text imports data"),
        ("data/a.py", "from dragoman import models", "1: data imports models"),
        ("data/a.py", "from dragoman import Translator", "1: data imports __init__"),
        ("cli/a.py", "import dragoman", "1: cli imports __init__"),
        ("models/a.py", "from ..decoding.beam import search", "1: models imports decoding"),
        ("models/deep/a.py", "from ...decoding import beam", "1: models imports decoding"),
        ("models/a.py", "from .. import decoding", "1: models imports decoding"),
        ("layers/a.py", "from dragoman.text import codec", "1: layers imports text"),
        ("training/a.py", "from dragoman.inference.translator import Translator", "1: training imports inference"),
        ("tree.py", "from dragoman.attention import attend", "1: tree imports attention"),
        ("utils/a.py", "", "1: `utils` stands in no layer; add it to LAYERS"),
    ],
)
def test_an_import_upward_or_sideways_is_found(path, text, finding):
    assert list(imports_point_down(planted(text, path))) == [f"{PACKAGE}/{path}:{finding}"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("attention/a.py", "import torch\nfrom dragoman.attention.attend import attend\nfrom . import masks"),
        ("models/a.py", "from dragoman.layers import embedding\nfrom dragoman import interfaces, tree"),
        ("interfaces.py", "from dragoman.tree import map_tensors"),
        ("cli/a.py", "from dragoman.training.trainer import Trainer\nfrom dragoman.models import build"),
        ("__init__.py", "from dragoman.inference.translator import Translator"),
        ("__main__.py", "from dragoman.cli.main import main"),
        ("data/a.py", "import dragomania"),
    ],
)
def test_an_import_downward_is_fine(path, text):
    assert list(imports_point_down(planted(text, path))) == []


@pytest.mark.parametrize(
    "text",
    [
        "import torch.nn",
        "def f():\n    from torch import Tensor",
        "from dragoman.interfaces import PAD",
        "from dragoman import tree",
        "from ..machine.devices import choose_device",
    ],
)
def test_torch_in_text_is_found(text):
    assert len(list(text_knows_no_torch(planted(text, "text/a.py")))) == 1
    assert list(text_knows_no_torch(planted(text, "data/a.py"))) == []
