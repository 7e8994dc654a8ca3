"""What the rules of this folder look at, and how they are stated: a rule maps a source to the places that break it."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PACKAGE = "src/dragoman"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One file; `name` is its path from the root of the repository, with slashes."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed text."""
        return ast.parse(self.text, self.name)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @property
    def path(self) -> PurePosixPath:
        """Where the file stands below the package, such as `attention/attend.py`."""
        return PurePosixPath(self.name).relative_to(PACKAGE)

    @property
    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        return (node for node in self.nodes if isinstance(node, Function))

    def at(self, node: ast.AST, message: str) -> str:
        """Say where `node` stands, then `message`."""
        return f"{self.name}:{getattr(node, 'lineno', 1)}: {message}"


Rule = Callable[[Source], Iterable[str]]


def planted(text: str, path: str = "attention/new.py") -> Source:
    """Make a source that breaks a rule on purpose."""
    return Source(f"{PACKAGE}/{path}", text)


@cache
def sources(*folders: str) -> list[Source]:
    """Read every Python file below `folders` of the repository."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def violations(rule: Rule, files: Iterable[Source]) -> str:
    """Return each place that breaks `rule`, a line each; nothing where all is well."""
    return "\n".join(finding for source in files for finding in rule(source))


def arguments_of(function: Function) -> list[ast.arg]:
    """Return all parameters of a function, without the `self` or `cls` of a method."""
    given = function.args
    several = [argument for argument in (given.vararg, given.kwarg) if argument is not None]
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [argument for argument in named if argument.arg not in ("self", "cls")] + several


def dotted(node: ast.expr) -> str:
    """Return a name with its dots, such as `torch.nn.functional.softmax`; of what is no name, only the attributes.

    >>> dotted(ast.parse("torch.load", mode="eval").body), dotted(ast.parse("f(x).softmax", mode="eval").body)
    ('torch.load', '.softmax')
    """
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
