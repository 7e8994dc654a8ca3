"""What every setting is asked: does anything read you, and if not, are you refused? Settings are spied on while they are used."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import torch
from torch import nn

from dragoman.errors import SettingsError
from dragoman.jobs.checks import check_recipe
from dragoman.settings import Settings, parse

CHOOSING = ("text.kind", "model.kind")
"""Settings that choose the class of the others, which is all they do."""
COMMENTS = ("about",)
"""Settings for readers alone."""
ONLY_CHECKED = ("dragoman.jobs.checks", "dragoman.jobs.rules", "dragoman.inference.checks", "dragoman.runs.rules")
"""Modules that look at settings without using them."""
ONLY_DECLARED = ("capabilities", "in_phase", "model_validate", "validate_python", "model_copy")
"""Functions that hand settings on, to be used or not, and those that validate them."""


@dataclass(frozen=True)
class Leaf:
    """One setting of a recipe: its place, the group that holds it, and its name there."""

    place: str
    own: Settings
    name: str


@dataclass
class Reads:
    """Which settings were read: of groups that are known by identity, and of all others by class."""

    known: dict[int, str] = field(default_factory=dict)
    places: set[str] = field(default_factory=set)
    classes: set[tuple[type, str]] = field(default_factory=set)

    def has(self, leaf: Leaf) -> bool:
        """Tell whether a setting was read, there or in a copy of its group."""
        return leaf.place in self.places or any(
            name == leaf.name and issubclass(type(leaf.own), kind) for kind, name in self.classes
        )


def groups(settings: Settings, place: str = "") -> Iterator[tuple[str, Settings]]:
    """Yield a group of settings and those inside it, each with its place."""
    yield place, settings
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        for at, inner in enumerate(value) if isinstance(value, tuple) else [(None, value)]:
            if isinstance(inner, Settings):
                yield from groups(inner, ".".join(str(part) for part in (place, name, at) if part not in ("", None)))


def leaves(settings: Settings) -> Iterator[Leaf]:
    """Yield every setting that is there and no group of others."""
    for place, own in groups(settings):
        for name in type(own).model_fields:
            value, at = getattr(own, name), f"{place}.{name}".lstrip(".")
            inner = value if isinstance(value, tuple) and value else (value,)
            if not any(isinstance(one, Settings) for one in inner) and at not in (*CHOOSING, *COMMENTS):
                yield Leaf(at, own, name)


@contextmanager
def spying(settings: Settings) -> Iterator[Reads]:
    """Record every setting that code reads, but for code that only checks it."""
    reads = Reads({id(own): place for place, own in groups(settings)})

    def read(self: Settings, name: str) -> Any:
        value = object.__getattribute__(self, name)
        kind = object.__getattribute__(self, "__class__")
        if name in kind.__pydantic_fields__ and not _looked_at(sys._getframe(1)):
            place = reads.known.get(id(self))
            if place is None:
                reads.classes.add((kind, name))
            else:
                reads.places.add(f"{place}.{name}".lstrip("."))
        return value

    Settings.__getattribute__ = read  # type: ignore[method-assign, assignment]
    try:
        yield reads
    finally:
        del Settings.__getattribute__


def _looked_at(frame: Any) -> bool:
    """Tell whether code that only checks or hands on settings is at work."""
    for _ in range(6):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") in ONLY_CHECKED or frame.f_code.co_name in ONLY_DECLARED:
            return True
        frame = frame.f_back
    return False


def ignored(recipe: Settings, reads: Reads, *, skip: tuple[str, ...] = ()) -> list[str]:
    """Return the settings that nothing read, and that are taken all the same when they are set to something else."""
    unread = [leaf for leaf in leaves(recipe) if not reads.has(leaf) and not leaf.place.startswith(skip)]
    return [leaf.place for leaf in unread if not is_refused(recipe, leaf)]


def is_refused(recipe: Settings, leaf: Leaf) -> bool:
    """Tell whether a recipe is refused, by a sentence that names the setting, once it is given another value."""
    tried = False
    for value in others(leaf):
        tried = True
        try:
            changed = with_value(recipe, leaf, value)
        except SettingsError:
            continue
        try:
            check_recipe(changed)
            return False
        except SettingsError as error:
            if leaf.name not in str(error):
                return False
    return tried


def with_value(recipe: Settings, leaf: Leaf, value: Any) -> Settings:
    """Return a recipe in which one setting has another value."""
    table = recipe.model_dump(mode="json")
    inner: Any = table
    *path, name = leaf.place.split(".")
    for part in path:
        inner = inner[int(part) if part.isdigit() else part]
    inner[name] = value
    return parse(type(recipe), table)


def others(leaf: Leaf) -> Iterator[Any]:
    """Yield values that a setting might have as well, of which some may not fit."""
    now = getattr(leaf.own, leaf.name)
    for value in _values(type(leaf.own).model_fields[leaf.name].annotation, now):
        if value != now and value != type(leaf.own).model_fields[leaf.name].default:
            yield value


def _values(annotation: Any, now: Any) -> Iterator[Any]:
    """Yield values of a type."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
        yield "plugged"  # registered by the test
    elif annotation is bool:
        yield from (True, False)
    elif annotation is int:
        yield from ((now or 0) + 1, (now or 0) + 2, 2)
    elif annotation is float:
        yield from ((now or 0) / 2, 0.25, 0.5, 1.5, 20.0)
    elif annotation in (str, Path):
        yield "x"
    elif isinstance(annotation, type) and issubclass(annotation, Settings):
        yield from ({}, {"training": "gumbel"}, {"kind": "monotonic"}, {"kind": "r_drop"})
    elif get_origin(annotation) is tuple and now:
        yield [*now[:-1], now[-1] / 2] if isinstance(now[-1], float) else [*now, now[-1]]
    else:
        for argument in get_args(annotation):
            yield from _values(argument, now)


def fingerprint(model: nn.Module) -> str:
    """Return all that makes a model what it is: parameters, and what each module remembers, but for settings kept whole."""
    parts = [f"{name} {tuple(one.shape)} {one.double().sum().item()}" for name, one in model.state_dict().items()]
    for name, module in model.named_modules():
        parts.append(f"{name} {type(module).__name__} {_simple(vars(module))}")
    return "\n".join(parts)


def _simple(value: Any) -> Any:
    """Return the numbers, words and tables of what a module remembers."""
    if isinstance(value, dict):
        return {key: _simple(one) for key, one in value.items() if not str(key).startswith("_") and key != "training"}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _simple(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Settings):
        return type(value).__name__
    if isinstance(value, tuple | list):
        return [_simple(one) for one in value]
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    return value if isinstance(value, int | float | str | bool | type(None)) else type(value).__name__
