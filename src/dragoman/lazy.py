"""Import the public names of a package on first use, so that importing the package is fast."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def importer(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose public names live in its modules.

    `places` maps each name to its module, or to `module:name` if its name in the module differs.

    >>> importer("dragoman", {"DragomanError": "errors"})("DragomanError").__module__
    'dragoman.errors'
    """

    def fetch(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        module, _, attribute = places[name].partition(":")
        return getattr(import_module(f"{package}.{module}"), attribute or name)

    return fetch
