"""Checks the shapes of tensors against signatures while tests run.

Nothing of Dragoman is imported here: the tests check what comes after. The checks cost twice as much as the models that are
tested, so each function is checked once for the same shapes in a file of tests, and functions without shapes in their signature
are not. Tests of whole programs go without.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any, get_args

import jaxtyping
import torch

SOURCE = Path(__file__).parents[1] / "src"
_checked = jaxtyping.jaxtyped
_seen: set[Any] = set()
"""Functions with the shapes that were checked; with None among them, nothing is checked."""
WHOLE_PROGRAMS = frozenset({"arena", "benchmarks", "cli", "end_to_end", "fuzz", "jobs", "scaling", "serving"})
"""Folders of tests of whole programs, which do without: the parts that have shapes are tested elsewhere."""


def check_shapes() -> None:
    """Check the modules with shapes in their signatures that are imported from now on."""
    vars(jaxtyping)["jaxtyped"] = _checked_once
    jaxtyping.install_import_hook(list(modules_with_shapes()), "beartype.beartype")


def begin(folder: str) -> None:
    """Begin with a file of tests in a folder: check all shapes again, or none."""
    _seen.clear()
    if folder in WHOLE_PROGRAMS:
        _seen.add(None)


def modules_with_shapes() -> Iterator[str]:
    """Yield the names of Dragoman's modules that import jaxtyping."""
    for path in sorted((SOURCE / "dragoman").rglob("*.py")):
        if "from jaxtyping import" in path.read_text(encoding="utf-8"):
            yield ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def _checked_once(function: Any = None, *, typechecker: Any) -> Any:
    """Decorate a function or a dataclass, as jaxtyping's hook does, so that it is checked once for the same shapes."""
    decorate = partial(_checked_once, typechecker=typechecker)
    match function:
        case None:
            return decorate
        case classmethod() | staticmethod():
            return type(function)(decorate(function.__func__))
        case property(fget=getter, fset=None, fdel=None):
            return property(decorate(getter))
        case type() if is_dataclass(function):
            if "__init__" in vars(function):
                type.__setattr__(function, "__init__", decorate(function.__init__))
            return function
    if not inspect.isfunction(function):
        return _checked(function, typechecker=typechecker)
    if not any(map(_has_shape, inspect.get_annotations(function).values())):
        return function
    return _once(function, cache(lambda: _checked(function, typechecker=typechecker)))


def _once(function: Callable[..., Any], checked: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a function that calls what `checked` gives for shapes not seen in this file of tests, and `function` otherwise."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if None in _seen or torch.compiler.is_dynamo_compiling():
            return function(*arguments, **named)
        sizes: dict[int, int] = {0: 0, 1: 1}
        shapes = (function, *(_shape(value, sizes) for value in (*arguments, *named, *named.values())))
        if shapes in _seen:
            return function(*arguments, **named)
        result = checked()(*arguments, **named)
        _seen.add(shapes)
        return result

    return call


def _shape(value: Any, sizes: dict[int, int]) -> Any:
    """Return what tells arguments apart: of a tensor its type, and which sizes are 0, 1 or as others; else the class or name."""
    if isinstance(value, torch.Tensor):
        return value.dtype, *(sizes.setdefault(size, len(sizes)) for size in value.shape)
    return value if isinstance(value, str) else type(value)


def _has_shape(annotation: Any) -> bool:
    """Say whether an annotation, or a part of it, has a shape."""
    if isinstance(annotation, str):
        return "[Tensor" in annotation
    shaped = isinstance(annotation, type) and issubclass(annotation, jaxtyping.AbstractArray)
    return shaped or any(map(_has_shape, get_args(annotation)))
