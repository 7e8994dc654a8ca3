"""Scores, positions, architectures and objectives that other packages provide, found by their entry points.

A package declares an entry point of the group `dragoman.plugins` that refers to a `Plugin` or a tuple of them. Built-in
names are looked up first, so a broken plugin affects only those who use it. docs/extend.md has a working example.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from types import TracebackType
from typing import Any, Literal, get_args

from pydantic import PlainSerializer, ValidationError, WrapValidator
from pydantic_core import PydanticCustomError

from dragoman.errors import SettingsError
from dragoman.settings import OF_PLUGINS, Settings, kinds_of

GROUP = "dragoman.plugins"

PluginKind = Literal["score", "relative", "positions", "model", "objective"]


@dataclass(frozen=True)
class Plugin:
    """One thing that a recipe can name, and the function that builds it.

    - `score`: every setting of a score, such as `model.score`. `build(query_dim, key_dim, *, hidden, positions)` returns an
      `attention.scores.Score`.
    - `relative`: `model.relative`. `build(*, heads, head_dim, causal)` returns an `attention.relative.Relative`.
    - `positions`: `model.positions`. `build(width, count)` returns a module that takes (states, offset) and returns states.
    - `model`: `model.kind`. `build(settings, vocabularies)` returns a `models.seq2seq.Seq2Seq`.
    - `objective`: `training.objective`. `build(training)` returns a function of (model, batch) to an `interfaces.Loss`.
    """

    kind: PluginKind
    name: str
    build: Callable[..., Any]
    settings: type[Settings] | None = None
    """For a model: the class of its section in a recipe, whose `kind` is `name`."""
    example: Mapping[str, Any] | None = None
    """For a model: settings of a small instance, for `dragoman laws`."""
    content_based: bool = True
    """For a score: whether it ignores the order of the keys."""

    def __post_init__(self) -> None:
        """Refuse a kind that does not exist, and a model whose settings do not have its name."""
        if self.kind not in get_args(PluginKind):
            raise SettingsError(
                f"the plugin `{self.name}` cannot have the kind `{self.kind}`; known: {', '.join(get_args(PluginKind))}"
            )
        if self.kind == "model" and (self.settings is None or self.name not in kinds_of(self.settings)):
            raise SettingsError(
                f"the model `{self.name}` needs a class of settings with that name: give `settings=` a subclass of "
                f'dragoman.settings.Settings in which stands `kind: Literal["{self.name}"] = "{self.name}"`'
            )

    def make(self, *arguments: Any, **options: Any) -> Any:
        """Build it. SettingsError where its function does not take what functions of its kind get."""
        with suppress(ValueError):  # what is written in C may not say what it takes
            try:
                signature(self.build).bind(*arguments, **options)
            except TypeError as error:
                raise SettingsError(
                    f"the plugin `{self.name}` cannot be built, for `{_name_of(self.build)}` does not take what the function "
                    f"of a {self.kind} gets ({error}); mend the plugin, as docs/extend.md says"
                ) from None
        return self.build(*arguments, **options)


@dataclass(frozen=True)
class Fault:
    """A line of a plugin in which an error arose."""

    path: str
    line: int
    traceback: TracebackType
    """The way of the error from the first line of the plugin on."""


def fault_of(error: BaseException) -> Fault | None:
    """Return the last line of a plugin's code through which an error went; None if it went through none.

    Where torch could not call a module of a plugin, that is the beginning of the function that does not take what it is given.
    """
    packages, frames = _packages(), _frames(error.__traceback__)
    theirs = [one for one in frames if _package(one.tb_frame.f_globals.get("__name__")) in packages]
    if theirs:
        return Fault(theirs[-1].tb_frame.f_code.co_filename, theirs[-1].tb_lineno, theirs[0])
    called = type(frames[-1].tb_frame.f_locals.get("self")) if frames else object
    code = getattr(getattr(called, "forward", None), "__code__", None)
    if code is None or not isinstance(error, TypeError) or _package(called.__module__) not in packages:
        return None
    return Fault(code.co_filename, code.co_firstlineno, frames[-1])


def _frames(traceback: TracebackType | None) -> list[TracebackType]:
    """Return a traceback and those within it, the innermost last."""
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def _packages() -> set[str]:
    """Return the packages of the plugins that were found so far, Dragoman's own aside."""
    known = [*_registered.values(), *(_installed().values() if _installed.cache_info().currsize else ())]
    return {_package(getattr(one.build, "__module__", None)) for one in known} - {"", "dragoman", "functools"}


def _package(module: object) -> str:
    """Return the package of a module by its name."""
    return str(module or "").partition(".")[0]


def _name_of(build: Callable[..., Any]) -> str:
    """Return the name of a function with its module."""
    return f"{getattr(build, '__module__', '')}.{getattr(build, '__qualname__', build)}"


def register(*plugins: Plugin) -> None:
    """Register plugins in this process only, for notebooks and tests. Raises SettingsError if a name is taken.

    A plugin that a notebook or a script itself defines replaces its former version, for cells are run again.
    """
    for plugin in plugins:
        again = plugin.build.__module__ == "__main__"
        if not again and _registered.get((plugin.kind, plugin.name), plugin) != plugin:
            raise SettingsError(f"two plugins provide the {plugin.kind} `{plugin.name}`; rename one of them")
        _registered[plugin.kind, plugin.name] = plugin


def find(kind: PluginKind, name: str) -> Plugin | None:
    """Return the plugin of a kind and a name; None if there is none. Raises SettingsError if a package is broken."""
    return _registered.get((kind, name)) or _installed().get((kind, name))


def get(kind: PluginKind, name: str) -> Plugin:
    """Return the plugin of a kind and a name. Raises SettingsError if there is none."""
    plugin = find(kind, name)
    if plugin is None:
        raise SettingsError(f"unknown {kind} `{name}`; install the package that provides it, or choose another")
    return plugin


def is_provided(kind: PluginKind, name: str) -> bool:
    """Tell whether there is a plugin of a kind and a name; not if a package is broken, which concerns only those who use it."""
    try:
        return find(kind, name) is not None
    except SettingsError:
        return False


def or_plugin(kind: PluginKind) -> tuple[WrapValidator, PlainSerializer]:
    """Return annotations that make a setting accept the names of plugins too: `Annotated[Name, *or_plugin("score")]`."""

    def validate(value: Any, check: Callable[[Any], Any]) -> Any:
        try:
            return check(value)
        except ValidationError as error:
            if isinstance(value, str) and find(kind, value) is not None:
                return value
            raise or_of_a_plugin(error, kind) from None

    return WrapValidator(validate), PlainSerializer(str)


def or_of_a_plugin(error: ValidationError, kind: PluginKind) -> ValueError:
    """Return the error for a name that is not built in, which then says what others plugins have; else the error itself."""
    first = error.errors(include_url=False)[0]
    if first["loc"] or first["type"] not in ("literal_error", "union_tag_invalid"):
        return error
    return PydanticCustomError(
        first["type"] + OF_PLUGINS, "it must be a known name", {**first["ctx"], "plugins": _names(kind)}
    )


def _names(kind: PluginKind) -> list[str]:
    """Return the names of the plugins of a kind; only those of this process if a package is broken."""
    names = {name for of, name in _registered if of == kind}
    with suppress(SettingsError):
        names |= {name for of, name in _installed() if of == kind}
    return sorted(names)


_registered: dict[tuple[PluginKind, str], Plugin] = {}


@cache
def _installed() -> Mapping[tuple[PluginKind, str], Plugin]:
    """Load the plugins of all installed packages."""
    found: dict[tuple[PluginKind, str], Plugin] = {}
    for entry in entry_points(group=GROUP):
        for plugin in _load(entry):
            if (plugin.kind, plugin.name) in found:
                raise SettingsError(
                    f"two plugins provide the {plugin.kind} `{plugin.name}`, one of them `{entry.value}`; uninstall one"
                )
            found[plugin.kind, plugin.name] = plugin
    return found


def _load(entry: EntryPoint) -> Iterable[Plugin]:
    """Return the plugins that an entry point refers to."""
    try:
        loaded = entry.load()
    except Exception as error:  # a foreign package may raise anything on import
        raise SettingsError(
            f"the plugin `{entry.value}` cannot be loaded ({type(error).__name__}: {error}); update or uninstall its package"
        ) from error
    plugins = (loaded,) if isinstance(loaded, Plugin) else loaded
    if not isinstance(plugins, tuple | list) or not all(isinstance(plugin, Plugin) for plugin in plugins):
        raise SettingsError(
            f"the entry point `{entry.value}` must refer to a dragoman.plugins.Plugin, or a tuple of them"
        )
    return plugins
