"""Modules keep nothing between calls: state comes in as an argument and goes out as a result. Buffers are named, and saved."""

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, Source, planted, sources, violations

FOLDERS = ("attention", "layers", "models")


def modules_keep_nothing(source: Source) -> Iterator[str]:
    """Find attributes of modules that are set in any method but `__init__`."""
    if source.path.parts[0] not in FOLDERS:
        return
    for found in source.nodes:
        if not isinstance(found, ast.ClassDef) or not found.bases:
            continue
        for method in found.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                for node, name in _set_on_self(method):
                    yield source.at(node, f"{found.name}.{method.name} sets self.{name}: return it, or use a buffer")


def _set_on_self(method: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    """Yield what a method assigns to attributes of `self`, and to their items."""
    for node in ast.walk(method):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        for target in (part for whole in targets for part in ast.walk(whole)):
            owner = target.value if isinstance(target, ast.Attribute | ast.Subscript) else None
            if isinstance(target, ast.Attribute) and isinstance(owner, ast.Name) and owner.id == "self":
                yield node, target.attr


def test_modules_keep_nothing_between_calls():
    found = violations(modules_keep_nothing, sources(PACKAGE))
    assert not found, found


@pytest.mark.parametrize(
    "statement",
    [
        "self.last = states",
        "self.count += 1",
        "self.past, x = states, 1",
        "self.cache[0] = states",
        "self.a.b = states",
    ],
)
def test_state_on_a_module_is_found(statement):
    made = "class A(nn.Module):\n    def __init__(self):\n        self.a = 1\n"
    text = f"{made}    def forward(self, states):\n        {statement}"
    assert len(list(modules_keep_nothing(planted(text, "layers/new.py")))) == 1
    assert list(modules_keep_nothing(planted(text, "training/new.py"))) == []


def test_a_named_buffer_may_change():
    text = "class A(nn.Module):\n    def learn(self, cost):\n        self.baseline.mul_(0.9).add_(cost)"
    assert list(modules_keep_nothing(planted(text, "attention/new.py"))) == []
