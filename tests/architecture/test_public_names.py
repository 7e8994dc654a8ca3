"""The package says what is public, all of it, and keeps its word. (Ruff keeps the list sorted.)"""

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, Source, planted, sources

import dragoman


def bound_names(source: Source) -> Iterator[str]:
    """Yield the names that a package's `__init__` binds to what is its own or its modules', for type checkers too.

    What it imports from elsewhere to do its work is not part of it.
    """
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] == "dragoman"):
            yield from (alias.asname or alias.name for alias in node.names)
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def public_names(source: Source) -> set[str]:
    """Return `bound_names` without those that begin with an underscore."""
    return {name for name in bound_names(source) if not name.startswith("_")}


def test_every_public_name_can_be_imported():
    assert dragoman.__all__
    assert [name for name in dragoman.__all__ if getattr(dragoman, name, None) is None] == []


@pytest.mark.parametrize(
    ("old", "new"), [("Continuer", "TextGenerator"), ("Filler", "MaskFiller"), ("Reading", "AttentionMap")]
)
def test_names_of_earlier_releases_keep_working(old, new):
    assert getattr(dragoman, old) is getattr(dragoman, new)


@pytest.mark.parametrize(
    ("owner", "methods"),
    [
        ("Translator", ["load", "attends", "preceding", "encode", "translate", "score", "read"]),
        ("Reading", ["mean", "by_words", "links", "picture"]),
        ("Continuer", ["load", "continue_texts"]),
        ("Filler", ["load", "fill"]),
        ("Run", ["languages", "weights", "fresh_model", "load_model", "load_shortlist", "save"]),
    ],
)
def test_methods_of_earlier_releases_keep_working(owner, methods):
    assert [name for name in methods if not hasattr(getattr(dragoman, owner), name)] == []


def test_no_public_name_is_forgotten_or_listed_twice():
    (init,) = (source for source in sources(PACKAGE) if str(source.path) == "__init__.py")
    listed = [name for name in dragoman.__all__ if not name.startswith("_")]
    assert sorted(listed) == sorted(public_names(init))


def test_completion_shows_the_public_names():
    assert set(dragoman.__all__) <= set(dir(dragoman))


def test_a_name_that_does_not_exist_is_refused():
    with pytest.raises(AttributeError, match="Translater"):
        _ = dragoman.Translater


def test_public_names_are_found_wherever_they_are_bound():
    text = "import importlib\nfrom typing import Any\n__version__ = '1'\n_HOMES = {}\nVALUE: int = 1\n"
    text += "if TYPE_CHECKING:\n    from dragoman.inference.translator import Translator as Translator\n"
    text += "from .errors import DragomanError\ndef load(): ...\ndef __getattr__(name): ..."
    assert public_names(planted(text, "__init__.py")) == {"VALUE", "Translator", "DragomanError", "load"}
