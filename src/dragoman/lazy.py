"""Names of a package that are imported when they are first used, so that importing the package is quick."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def importer(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names stand in its modules: from each name to its module.

    >>> importer("dragoman", {"DragomanError": "errors"})("DragomanError").__module__
    'dragoman.errors'
    """

    def fetch(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return fetch
