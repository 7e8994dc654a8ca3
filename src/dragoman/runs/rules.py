"""Rules for settings that have an effect only in combination with others, and messages if they have none.

A setting left at its default never breaks a rule: only one that was set explicitly and would be ignored does.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.settings import Settings


@dataclass(frozen=True)
class Rule:
    """One setting, the condition under which it works, and what it needs.

    `works` takes the whole (a recipe, or a planned search) and the group that contains the setting. `needs` continues a
    sentence that starts with the setting's name; `{whole...}` and `{own...}` in it are replaced by values of these.
    """

    setting: str
    """Its path from the whole, such as `training.momentum`; `*` means each item of a list."""
    works: Callable[[Any, Any], bool]
    needs: str
    remedy: str = ""
    """What to do; by default to remove the setting, or to set it to its default."""
    even_default: bool = False
    """Whether the default is refused too, because the whole needs another value."""

    def refusals(self, whole: Any) -> Iterator[str]:
        """Yield a message for each place where the setting is given but would be ignored."""
        *path, name = self.setting.split(".")
        for place, own in _owners(whole, path):
            field = type(own).model_fields.get(name)
            if field is None:
                continue
            value = getattr(own, name)
            if (self.even_default or value != field.default) and not self.works(whole, own):
                at = ".".join([*place, name])
                remedy = self.remedy or _remedy(at, field.default)
                yield f"`{at}{_shown(value)}` {self.needs.format(whole=whole, own=own)}; {remedy}"


def refusals(rules: Sequence[Rule], whole: Any) -> list[str]:
    """Return a message for each setting that was given but would be ignored, in the order of the rules."""
    return [sentence for rule in rules for sentence in rule.refusals(whole)]


def _owners(whole: Any, path: Sequence[str], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Settings]]:
    """Yield the groups of settings at a path, each with its location; none if part of the path does not exist."""
    if not path:
        if isinstance(whole, Settings):
            yield place, whole
    elif path[0] == "*":
        for number, item in enumerate(whole if isinstance(whole, tuple) else ()):
            yield from _owners(item, path[1:], (*place, str(number)))
    else:
        inner = getattr(whole, path[0], None)
        if inner is not None:
            yield from _owners(inner, path[1:], (*place, path[0]))


def _remedy(setting: str, default: Any) -> str:
    """Describe how to undo a setting.

    >>> _remedy("training.reward", None), _remedy("training.momentum", 0.0)
    ('remove it', 'remove it, or set `training.momentum: 0.0`')
    """
    return "remove it" if default is None else f"remove it, or set `{setting}{_shown(default)}`"


def _shown(value: Any) -> str:
    """Format a value to follow the name of its setting; empty for a group of settings.

    >>> _shown(True), _shown((0.9, 0.98)), _shown(None)
    (': true', ': [0.9, 0.98]', '')
    """
    if value is None or isinstance(value, Settings):
        return ""
    if isinstance(value, tuple):
        return f": [{', '.join(map(str, value))}]"
    return f": {str(value).lower() if isinstance(value, bool) else value}"
