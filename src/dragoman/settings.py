"""Strict, frozen settings: read from YAML, overridden by `a.b=c`; errors name the place and the closest known name."""

import difflib
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from dragoman.errors import SettingsError, shorten
from dragoman.yaml_subset import DEEPEST, YamlProblem, read

LARGEST_FILE = 1 << 20
"""Maximum size of a settings file in bytes."""

LONGEST_MESSAGE = 1000
"""Maximum characters of a validator's message, which may quote long values."""

AUTO = "auto"
"""Value of a setting that is chosen when training starts, from the corpus, the budget and the machine (`jobs/auto.py`)."""

INTEGERS = range(-(1 << 63), 1 << 63)
"""64-bit integers; underlying libraries fail on larger ones."""


class Settings(BaseModel):
    """A group of settings. Frozen; a key that names no field is refused; values have their fields' types; numbers are finite."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=False, use_attribute_docstrings=True, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_switches(cls, table: Any) -> Any:
        """Refuse booleans for numbers, text and tables; YAML reads `on`, `y` and the like as booleans."""
        for name, value in table.items() if isinstance(table, dict) else ():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field is not None and field.annotation is not bool:
                needed = "a table of settings" if _classes(field.annotation, set()) else "a number or a word"
                raise ValueError(f"`{name}` is {'yes' if value else 'no'}, but it must be {needed}")
        return table

    @model_validator(mode="after")
    def _refuse_huge_integers(self) -> "Settings":
        """Refuse integers of more than 64 bits."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, int) and value not in INTEGERS:
                raise ValueError(f"`{name}` is {shorten(value)}, but it must be a whole number of at most 64 bits")
        return self


Kind = TypeVar("Kind", bound=Settings)


def parse(kind: type[Kind], table: Mapping[str, Any], where: str = "the recipe") -> Kind:
    """Build `kind` from `table`. SettingsError names the first problem, its place, and the nearest known name.

    >>> class Example(Settings):
    ...     dropout: float = 0.1
    >>> parse(Example, {"droput": 0.3})
    Traceback (most recent call last):
    dragoman.errors.SettingsError: the recipe has no setting `droput`; did you mean `dropout`?
    """
    try:
        return kind.model_validate(dict(table))
    except ValidationError as error:
        raise SettingsError(_sentence(kind, error, where)) from None


def read_yaml(path: Path, what: str = "a recipe", names: str = "from `dragoman recipes`") -> dict[str, Any]:
    """Read a YAML file that holds one table (see `yaml_subset`). SettingsError says what is wrong with it, and where.

    `what` the file should be, and where `names` of shipped ones are found, are for its sentence.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise SettingsError(f"{path} is larger than {LARGEST_FILE >> 20} MiB; is it {what}?")
        table = read(content.decode("utf-8"))
    except IsADirectoryError:
        raise SettingsError(f"{path} is a directory; give the path of {what} (a YAML file)") from None
    except FileNotFoundError:
        raise SettingsError(f"there is no file {path}; give the path of {what}, or a name {names}") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text (byte {error.start}); is it {what}?") from None
    except YamlProblem as error:
        raise SettingsError(f"{path} is not valid YAML at line {error.line}: {error.problem}") from None
    if not isinstance(table, dict):
        raise SettingsError(f"{path} must hold sections such as `data:` and `model:`, but it holds {_name_of(table)}")
    return table


def override(table: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """Return `table` with each `a.b=value` set; values are YAML, numbers in a path count list items from 0.

    >>> override({"model": {"width": 256}}, ["model.width=512", "data.train.0.source=a.en"])
    {'model': {'width': 512}, 'data': {'train': [{'source': 'a.en'}]}}
    """
    result: dict[str, Any] = _copy(table)
    for assignment in assignments:
        path, equals, value = assignment.partition("=")
        shown = f"--set {shorten(assignment)}"
        if not equals or not path:
            raise SettingsError(f"`{shown}` is not of the form a.b=value, for example training.steps=1000")
        parts = path.strip().split(".")
        if len(parts) > DEEPEST:
            raise SettingsError(f"`{shown}`: the path has more than {DEEPEST} parts; there is no setting so deep")
        try:
            _assign(result, parts, read(value), place=shorten(path.strip()))
        except YamlProblem as error:
            raise SettingsError(
                f"`{shown}`: the value is not valid YAML ({error.problem}); put quotes around it"
            ) from None
    return result


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` updated by `changes`, table by table; another `kind` replaces the whole table, unless it was `auto`.

    >>> merge({"model": {"kind": "rnn", "cell": "gru"}}, {"model": {"kind": "transformer"}})
    {'model': {'kind': 'transformer'}}
    >>> merge({"model": {"kind": "auto", "width": "auto"}}, {"model": {"kind": "transformer"}})
    {'model': {'kind': 'transformer', 'width': 'auto'}}
    """
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        result[key] = value
        if isinstance(old, dict) and isinstance(value, dict):
            kind = old.get("kind")
            result[key] = merge(old, value) if kind == AUTO or value.get("kind") in (None, kind) else value
    return result


def dump(settings: Settings) -> str:
    """Return `settings` as YAML that `parse` reads back to an equal value."""
    return yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def nearest(name: str, known: Sequence[str], *, listed: str | None = None) -> str:
    """Return the hint "; did you mean `x`?" for the closest of `known`, or a list of them if none is close.

    Where they are many, `listed` names the command that lists them.

    >>> nearest("transfomer", ["rnn", "transformer"])
    '; did you mean `transformer`?'
    """
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; known: {', '.join(known)}" if listed is None else f"; `{listed}` lists them"


def _copy(value: Any) -> Any:
    """Copy tables and lists recursively; sequences of any kind become lists."""
    if isinstance(value, Mapping):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list | tuple) else value


def _assign(table: Any, path: Sequence[str], value: Any, *, place: str) -> None:
    """Set `value` at `path`, the rest of `place`, making tables and lists on the way."""
    key: Any = int(path[0]) if isinstance(table, list) and _is_index(path[0]) else path[0]
    if isinstance(table, list):
        if not isinstance(key, int) or key > len(table):
            raise SettingsError(
                f"`--set {place}`: `{shorten(path[0])}` is not an item of the list, which has {len(table)}, counted from 0; "
                f"give a number up to {len(table)}, which adds one"
            )
        if key == len(table):
            table.append(None)
    elif not isinstance(table, dict):
        raise SettingsError(
            f"`--set {place}`: `{shorten(path[0])}` cannot be set inside {_name_of(table)}; leave it out"
        )
    if len(path) == 1:
        table[key] = value
        return
    inner = table[key] if isinstance(table, list) else table.get(key)
    if not isinstance(inner, dict | list):
        inner = [] if _is_index(path[1]) else {}
        table[key] = inner
    _assign(inner, path[1:], value, place=place)


def _is_index(part: str) -> bool:
    """Tell whether a part of a path is a list index."""
    return part.isascii() and part.isdigit() and len(part) < 10


def _sentence(kind: type[Settings], error: ValidationError, where: str) -> str:
    """Turn the first problem of a validation into one sentence."""
    problems = error.errors(include_url=False)
    problem = next((m for m in problems if m["type"] == "extra_forbidden"), problems[0])
    location = [shorten(part) for part in problem["loc"] if not _is_tag(part, kind)]
    place = ".".join(location)
    given = shorten(problem["input"])
    if problem["type"] == "extra_forbidden":
        parent = ".".join(location[:-1])
        section = f"{where}, section `{parent}`," if parent else where
        known = [name for name in _fields_at(kind, problem["loc"][:-1]) if name != location[-1]]
        said = f"{section} has no setting `{location[-1]}`{nearest(location[-1], known)}"
        owner = _of_another_kind(kind, problem["loc"], parent)
        return f"{said}{';' * (owner != '' and not said.endswith('?'))}{owner}"
    if problem["type"] == "missing":
        return f"{where} lacks the setting `{place}`; add it"
    if problem["type"].startswith("union_tag"):
        known = _tags_at(kind, problem["loc"])
        tag = shorten(str(problem.get("ctx", {}).get("tag", "")))
        if not tag:
            return f"{where}: `{place}.kind` is missing; known: {', '.join(known)}"
        return f"{where}: `{place}.kind` cannot be `{tag}`{_nearest_or_plugin(tag, known, problem)}"
    message = _PLAIN.get(problem["type"], _in_plain_words(problem["msg"].removeprefix("Value error, ")))
    if problem["type"] == "value_error":
        return f"{where}: {shorten(message, LONGEST_MESSAGE)}"
    if problem["type"].startswith("literal_error"):
        known = [word.strip().strip("'") for word in problem["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return f"{where}: `{place}` cannot be `{given}`{_nearest_or_plugin(given, known, problem)}"
    shown = repr(given) if isinstance(problem["input"], str) else given
    return f"{where}: `{place}` is {shown}, but {message[0].lower()}{message[1:]}"


def _of_another_kind(kind: type[Settings], location: Sequence[str | int], section: str) -> str:
    """Return advice on a setting that a section lacks because of its `kind`; nothing if no other kind has it."""
    if len(location) < 2 or not _is_tag(location[-2], kind):
        return ""
    *before, tag, name = location
    owners = {
        one for settings in _classes_at(kind, before) if name in settings.model_fields for one in kinds_of(settings)
    }
    if not owners:
        return ""
    return (
        f" `{name}` is a setting of `{section}.kind: {'`, `'.join(sorted(owners))}`, not of `{tag}`; to change the kind, add "
        f"--set {section}.kind=..., or replace the whole section: --set '{section}={{kind: ...}}'"
    )


def _nearest_or_plugin(name: str, known: Sequence[str], problem: Any) -> str:
    """Return what `nearest` does; where plugins may provide more, for their names too."""
    if not problem["type"].endswith(OF_PLUGINS):
        return nearest(name, known)
    theirs = problem["ctx"]["plugins"]
    said = nearest(name, [*known, *theirs])
    if "known:" not in said:
        return said
    return f"{nearest(name, known)}, and those of installed plugins{': ' if theirs else ''}{', '.join(theirs)}"


OF_PLUGINS = "_of_plugins"
"""What ends pydantic's name of a problem with a name that a plugin may provide."""
_PLAIN = {
    "model_attributes_type": "it must be a table of settings",
    "model_type": "it must be a table of settings",
    "tuple_type": "it must be a list",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "it must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "it must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "it must be true or false"),
    "string_type": "it must be text",
    "dict_type": "it must be a table of settings",
}
"""Pydantic messages that use terms of Python, in those of a recipe."""
_MEMBERS = ("function-", "literal[")
"""What begins pydantic's names of members of a union that have no tag."""
_BOUNDS = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "above",
    "less than": "below",
}
"""What pydantic calls bounds, and what the tables of settings call them."""


def _in_plain_words(message: str) -> str:
    """Return pydantic's message about a value in the words of the tables of settings.

    >>> _in_plain_words("Input should be greater than or equal to 1")
    'it must be at least 1'
    """
    if not message.startswith("Input should "):
        return message
    bound = next((name for name in _BOUNDS if name in message), "")
    return message.replace("Input should", "it must").replace(bound, _BOUNDS.get(bound, ""))


def _is_tag(part: object, kind: type[Settings]) -> bool:
    """Return whether a part of a pydantic location is the tag of a union, or a member that has none, rather than a setting."""
    return isinstance(part, str) and (part in _tags(kind) or (part.startswith(_MEMBERS) and part.endswith("]")))


def _tags(kind: Any) -> set[str]:
    """Collect the `kind` values of every settings class reachable from `kind`."""
    found: set[str] = set()
    for settings in _classes(kind, set()):
        found.update(kinds_of(settings))
    return found - set(kind.model_fields)


def kinds_of(settings: type[Settings]) -> set[str]:
    """Return the values that the field `kind` of a settings class may have."""
    field = settings.model_fields.get("kind")
    return {str(value) for value in get_args(field.annotation)} if field is not None else set()


def _classes(annotation: Any, seen: set[type[Settings]]) -> set[type[Settings]]:
    """Collect the settings classes that `annotation` mentions, and those that they mention."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        if annotation not in seen:
            seen.add(annotation)
            for field in annotation.model_fields.values():
                _classes(field.annotation, seen)
    elif get_origin(annotation) in (Union, types.UnionType, Annotated, list, tuple, dict):
        for argument in get_args(annotation):
            _classes(argument, seen)
    return seen


def _fields_at(kind: type[Settings], location: Sequence[str | int]) -> list[str]:
    """Return the names of the settings known at a location of a pydantic error."""
    return sorted({name for settings in _classes_at(kind, location) for name in settings.model_fields})


def _tags_at(kind: type[Settings], location: Sequence[str | int]) -> list[str]:
    """Return the `kind` values to choose from at a location of a pydantic error."""
    fields = (settings.model_fields["kind"] for settings in _classes_at(kind, location))
    return sorted({str(tag) for field in fields for tag in get_args(field.annotation)})


def _classes_at(kind: type[Settings], location: Sequence[str | int]) -> set[type[Settings]]:
    """Return the settings classes that may be at a location of a pydantic error."""
    candidates: set[type[Settings]] = {kind}
    for part in location:
        inner: set[type[Settings]] = set()
        for candidate in candidates:
            field = candidate.model_fields.get(str(part))
            if field is not None:
                inner |= _direct(field.annotation)
            elif isinstance(part, int) or part in kinds_of(candidate):
                inner.add(candidate)
        candidates = inner or candidates
    return candidates


def _direct(annotation: Any) -> set[type[Settings]]:
    """Return the settings classes that `annotation` itself names."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return {annotation}
    return {found for argument in get_args(annotation) for found in _direct(argument)}


def _name_of(value: object) -> str:
    """Describe a YAML value in plain words."""
    names = {dict: "a table", list: "a list", str: "text", bool: "yes or no", int: "a number", float: "a number"}
    return "nothing" if value is None else names.get(type(value), type(value).__name__)
