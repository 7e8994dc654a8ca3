"""What the rules of this folder look at in C++: files without their comments, and functions by their braces."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tests.architecture.source import PACKAGE, ROOT

FUNCTION = re.compile(
    r"\b(?P<name>~?\w+)\s*\((?P<parameters>[^;{}]*)\)\s*(?:const\s*)?(?:noexcept\s*)?(?:->[^;{}]*)?(?::[^;{}]*)?\{"
)
"""A name, parameters, and a body; also a call whose last argument is a lambda, which is a function too."""
CONTROL = frozenset({"if", "for", "while", "switch", "catch"})


@dataclass(frozen=True)
class CppFunction:
    """A function or a lambda: where it begins, and how large it is."""

    name: str
    line: int
    lines: int
    parameters: int


@dataclass(frozen=True)
class CppSource:
    """One file; `name` is its path from the root of the repository, with slashes."""

    name: str
    text: str

    @property
    def path(self) -> PurePosixPath:
        """The path below the package, such as `native/attention.h`."""
        return PurePosixPath(self.name).relative_to(PACKAGE)

    @property
    def code(self) -> str:
        """The text without comments; lines stay where they are."""
        return re.sub(r"//[^\n]*", "", self.text)

    @property
    def functions(self) -> Iterator[CppFunction]:
        """Every function, method and lambda that has a body."""
        for found in FUNCTION.finditer(self.code):
            if found["name"] not in CONTROL:
                end = _closing(self.code, found.end() - 1)
                line = self.code.count("\n", 0, found.start()) + 1
                lines = self.code.count("\n", found.start(), end) + 1
                yield CppFunction(found["name"], line, lines, _count(found["parameters"]))

    def at(self, line: int, message: str) -> str:
        """Say where something is, then `message`."""
        return f"{self.name}:{line}: {message}"


def cpp_sources() -> list[CppSource]:
    """Read every C++ file of the package."""
    paths = sorted(path for path in (ROOT / PACKAGE).rglob("*") if path.suffix in (".h", ".cpp"))
    return [CppSource(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def planted_cpp(text: str, path: str = "native/new.h") -> CppSource:
    """Make a file that breaks a rule on purpose."""
    return CppSource(f"{PACKAGE}/{path}", text)


def _closing(code: str, opening: int) -> int:
    """Return where the brace that opens at `opening` is closed."""
    depth = 0
    for position in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[position], 0)
        if depth == 0:
            return position
    return len(code)


def _count(parameters: str) -> int:
    """Count what commas separate outside of brackets.

    >>> _count("const Tensor& x, std::pair<int, int> y"), _count(" ")
    (2, 0)
    """
    depth, commas = 0, 0
    for letter in parameters:
        depth += {"<": 1, "(": 1, "[": 1, ">": -1, ")": -1, "]": -1}.get(letter, 0)
        commas += letter == "," and depth == 0
    return commas + 1 if parameters.strip() else 0
