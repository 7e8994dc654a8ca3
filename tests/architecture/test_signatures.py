"""Signatures say types and shapes, docstrings say what they cannot."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.architecture.source import (
    PACKAGE,
    Function,
    Source,
    arguments_of,
    dotted,
    planted,
    sources,
    violations,
)

ARRAYS = frozenset({"Float", "Int", "Bool", "Num", "Shaped", "Inexact", "Real", "UInt8", "Int64", "Float32", "Complex"})


FORMS = "data/phrasebook/lexicon.py"
"""Returns the five forms of an adjective, which are read as `forms[row]`. Its bytes are part of the phrasebook's checksum."""


def everything_is_annotated(source: Source) -> Iterator[str]:
    """Find functions whose result or parameters have no type."""
    for function in source.functions:
        if function.returns is None:
            yield source.at(function, f"{function.name} does not say what it returns")
        for argument in arguments_of(function):
            if argument.annotation is None:
                yield source.at(function, f"{function.name} does not say what `{argument.arg}` is")


def long_results(source: Source) -> Iterator[str]:
    """Find functions that return, or yield, a tuple of more than two values, wherever in the annotation it stands."""
    for function in source.functions:
        for tuples in _tuples(function.returns, _aliases(source)):
            yield source.at(function, f"{function.name} returns {len(tuples)} values; give them names in a class")


def _tuples(annotation: ast.expr | None, aliases: dict[str, ast.expr]) -> Iterator[list[ast.expr]]:
    """Yield the members of each tuple of a fixed length above two in an annotation; names stand for what they are short for."""
    for node in () if annotation is None else ast.walk(annotation):
        if isinstance(node, ast.Name) and node.id in aliases:
            yield from _tuples(aliases[node.id], {name: known for name, known in aliases.items() if name != node.id})
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "tuple[" in node.value:
            yield from _tuples(ast.parse(node.value, mode="eval").body, aliases)
        elif isinstance(node, ast.Subscript) and dotted(node.value).rpartition(".")[2].lower() == "tuple":
            members = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
            if len(members) > 2:
                yield members


def _aliases(source: Source) -> dict[str, ast.expr]:
    """Return the names that a module gives to types of its own: `Row = tuple[int, str]`."""
    return {
        target.id: node.value
        for node in source.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def shapes_can_be_checked(source: Source) -> Iterator[str]:
    """Find what the import hook that checks shapes cannot read."""
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if node.module == "__future__" and "annotations" in names:
                yield source.at(node, "annotations from __future__ are text, which jaxtyping cannot check")
            if node.module in ("typing", "typing_extensions") and "Self" in names:
                yield source.at(node, "Self cannot be checked; write the name of the class in quotes")
        elif isinstance(node, ast.Attribute) and dotted(node) == "typing.Self":
            yield source.at(node, "Self cannot be checked; write the name of the class in quotes")
        elif isinstance(node, ast.Subscript) and dotted(node.value).rpartition(".")[2] in ARRAYS:
            yield from _shape(source, node)


def _shape(source: Source, node: ast.Subscript) -> Iterator[str]:
    """Find a shape of one axis without its leading space: a name, as far as linters know."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    shape = parts[1].value if len(parts) == 2 and isinstance(parts[1], ast.Constant) else None
    if isinstance(shape, str) and re.fullmatch(r"[A-Za-z_]\w*", shape):
        yield source.at(node, f'the shape of one axis needs a leading space: " {shape}"')


def promised(files: list[Source]) -> frozenset[str]:
    """Collect the methods that a protocol or an abstract class documents: who implements them need not say it again."""
    return frozenset(
        method.name
        for source in files
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and _is_promise(node)
        for method in node.body
        if isinstance(method, Function) and ast.get_docstring(method)
    )


def _is_promise(node: ast.ClassDef) -> bool:
    """Tell whether a class says what others do."""
    bases = {dotted(base.value if isinstance(base, ast.Subscript) else base).rpartition(".")[2] for base in node.bases}
    return bool(bases & {"Protocol", "ABC"})


def undocumented(source: Source, known: frozenset[str] = frozenset()) -> Iterator[str]:
    """Find a module, or a public class, function or method, that does not say what it is; `known` are promised."""
    if not ast.get_docstring(source.tree) and source.text.strip():
        yield source.at(source.tree, "the module has no docstring")
    for owner, node in _public(source.tree):
        told = isinstance(owner, ast.ClassDef) and (node.name in known or node.name == "forward")
        if not told and not ast.get_docstring(node):
            yield source.at(node, f"{node.name} has no docstring")


def _public(owner: ast.Module | ast.ClassDef) -> Iterator[tuple[ast.AST, Function | ast.ClassDef]]:
    """Yield public classes and functions, and what public classes hold, each with what holds it."""
    for node in owner.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_") and not _is_overload(node):
            yield owner, node
            if isinstance(node, ast.ClassDef):
                yield from _public(node)


def _is_overload(node: Function | ast.ClassDef) -> bool:
    """Tell whether a definition is there for the type checker, or sets what a documented property reads."""
    names = {dotted(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return bool(names & {"overload", "setter"})


def test_every_function_is_annotated():
    found = violations(everything_is_annotated, sources(PACKAGE))
    assert not found, found


def test_a_result_of_more_than_two_values_has_names():
    files = [source for source in sources(PACKAGE) if source.path.as_posix() != FORMS]
    found = violations(long_results, files)
    assert not found, found


def test_every_shape_can_be_checked():
    found = violations(shapes_can_be_checked, sources(PACKAGE))
    assert not found, found


def test_everything_public_says_what_it_is():
    files = sources(PACKAGE)
    known = promised(files)
    found = violations(lambda source: undocumented(source, known), files)
    assert not found, found


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("def f(x: int): ...", "1: f does not say what it returns"),
        ("class C:\n    def f(self, x, *, y: int) -> int: ...", "2: f does not say what `x` is"),
        ("def f() -> int:\n    def g(*a: int, **b) -> int: ...", "2: g does not say what `b` is"),
    ],
)
def test_a_missing_annotation_is_found(text, finding):
    assert list(everything_is_annotated(planted(text))) == [f"{PACKAGE}/attention/new.py:{finding}"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f() -> tuple[int, str, float]: ...", 1),
        ("async def f() -> typing.Tuple[int, str, float] | None: ...", 1),
        ("class C:\n    def f(self) -> Iterator[tuple[int, int, int]]: ...", 2),
        ("def f() -> tuple[int, tuple[int, int, int]]: ...", 1),
        ("def f() -> 'list[tuple[int, C, int]]': ...", 1),
        ("Row = tuple[int, int, int]\ndef f() -> list[Row]: ...", 2),
    ],
)
def test_a_result_of_three_values_is_found(text, line):
    assert list(long_results(planted(text))) == [
        f"{PACKAGE}/attention/new.py:{line}: f returns 3 values; give them names in a class"
    ]


@pytest.mark.parametrize("result", ["tuple[int, str]", "tuple[int, ...]", "dict[str, int]", "list[tuple[int, int]]"])
def test_a_result_of_two_values_is_fine(result):
    assert list(long_results(planted(f"def f(row: tuple[int, int, int]) -> {result}: ..."))) == []


@pytest.mark.parametrize(
    "text",
    [
        "from __future__ import annotations",
        "from typing import Any, Self",
        "import typing\nx: typing.Self",
        'def f(x: Int[Tensor, "rows"]) -> None: ...',
        'def f(x: jaxtyping.Float[Tensor, "rows"] | None) -> None: ...',
    ],
)
def test_a_signature_that_cannot_be_checked_is_found(text):
    assert len(list(shapes_can_be_checked(planted(text)))) == 1


@pytest.mark.parametrize("shape", [" rows", "batch time", "", "*batch", "...", "3", "#batch"])
def test_a_shape_that_can_be_checked_is_fine(shape):
    assert list(shapes_can_be_checked(planted(f'x: Int[Tensor, "{shape}"]'))) == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("x = 1", "1: the module has no docstring"),
        ('"""M."""\ndef f() -> None: ...', "2: f has no docstring"),
        ('"""M."""\nclass C:\n    x: int', "2: C has no docstring"),
        ('"""M."""\nclass C:\n    """C."""\n    def f(self) -> None: ...', "4: f has no docstring"),
    ],
)
def test_silence_is_found(text, finding):
    assert list(undocumented(planted(text))) == [f"{PACKAGE}/attention/new.py:{finding}"]


def test_private_names_and_promised_methods_need_not_speak():
    protocol = planted('class P(Protocol[T]):\n    def start(self) -> None:\n        """Start."""')
    text = '"""M."""\ndef _f() -> None: ...\nclass C:\n    """C."""\n'
    text += "".join(f"    def {name}(self) -> None: ...\n" for name in ("start", "forward", "__len__", "_own"))
    assert list(undocumented(planted(text), promised([protocol]))) == []
    assert list(undocumented(planted(text))) == [f"{PACKAGE}/attention/new.py:5: start has no docstring"]
