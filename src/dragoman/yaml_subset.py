"""The subset of YAML for recipes: values, lists and tables, limited in depth and size.

As PyYAML's safe loader reads them (YAML 1.1), except that tags, dates and base-60 numbers are not read (a plain `12:30` is
text), that a key may be given only once, and that aliases and merge keys are copied: their total size is limited, and a
change to one copy does not affect the others. Values are built from PyYAML's events without recursion.
"""

import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import yaml
from yaml import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

DEEPEST = 50
"""Maximum nesting of tables and lists."""

MOST_VALUES = 10_000
"""Maximum number of values in one text, with those of aliases counted each time."""

FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser, ten times as fast as PyYAML's own, which says better what is wrong in a text that neither reads."""

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_SWITCHES = {
    spelling: value
    for value, words in ((True, ("yes", "true", "on")), (False, ("no", "false", "off")))
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
}
_INTEGER = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?)")
_SPECIAL_FLOAT = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_BASES = {"0b": 2, "0x": 16}
_LONGEST_NUMBER = 300
"""Maximum characters of a number; longer sequences of digits are text."""

_UNUSABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that cannot be in a file name or UTF-8 file, but can be written as YAML escapes."""

_MERGE = "<<"
"""The key of a merge."""


class YamlProblem(Exception):
    """What is wrong with a text, in plain words, and its line, counted from 1."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


@dataclass(frozen=True)
class _Anchored:
    """A value that aliases may repeat."""

    value: Any
    size: int
    """Values in it, itself included."""
    height: int
    """Levels of tables and lists in it, itself included; 0 for a single word."""


@dataclass
class _Open:
    """A table or a list whose end has not been read yet."""

    value: Any
    """A dict or a list."""
    anchor: str | None
    line: int
    size_before: int
    """Number of values read before it started."""
    height: int = 1
    """Levels of tables and lists in it so far, itself included."""
    lines: dict[Any, int] = field(default_factory=dict)
    """Line of each key of a table."""
    key: Any = None
    has_key: bool = False
    merged: list[Any] = field(default_factory=list)
    """Tables whose keys are added where the table itself lacks them."""


def read(text: str) -> Any:
    """Return the value that a text spells; None for an empty one. Raises YamlProblem if it is not of this kind.

    >>> read("a: [1, 2.5, yes, 12:30]")
    {'a': [1, 2.5, True, '12:30']}
    """
    try:
        return _build(yaml.parse(text, Loader=FAST_LOADER))
    except (yaml.YAMLError, ValueError, OverflowError):
        return _build(_events(text))


def _build(events: Iterable[Event]) -> Any:
    """Return the value of the first document."""
    builder = _Builder()
    for event in events:
        builder.take(event)
    return builder.documents[0] if builder.documents else None


def _events(text: str) -> Iterator[Event]:
    """Parse a text by PyYAML, whose complaints become problems with a line."""
    try:
        yield from yaml.parse(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        code = error.character if isinstance(error.character, int) else ord(error.character)
        line = text.count("\n", 0, error.position) + 1
        raise YamlProblem(f"the character U+{code:04X} cannot be part of it", line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlProblem(error.problem or "it cannot be read", mark.line + 1 if mark else 1) from None
    except (yaml.YAMLError, ValueError, OverflowError):  # an escape beyond Unicode, for instance
        raise YamlProblem("it cannot be read", 1) from None


class _Builder:
    """Builds values from events."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._size = 0

    def take(self, event: Event) -> None:
        """Take the next event."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        match event:
            case ScalarEvent():
                self._refuse_tag(event, line)
                self._count(1, line)
                self._put(_Anchored(_scalar(event, line), size=1, height=0), event.anchor, line)
            case AliasEvent():
                if event.anchor not in self._anchors:
                    raise YamlProblem(f"the alias `*{event.anchor}` has no anchor `&{event.anchor}` before it", line)
                anchored = self._anchors[event.anchor]
                self._count(anchored.size, line)
                self._check_depth(anchored.height, line)
                self._put(replace(anchored, value=copy.deepcopy(anchored.value)), None, line)
            case MappingStartEvent() | SequenceStartEvent():
                self._refuse_tag(event, line)
                self._check_depth(1, line)
                self._count(1, line)
                value = {} if isinstance(event, MappingStartEvent) else list[Any]()
                self._open.append(_Open(value, event.anchor, line, size_before=self._size - 1))
            case MappingEndEvent() | SequenceEndEvent():
                done = self._open.pop()
                for table in done.merged:
                    done.value = {**table, **done.value}
                size = self._size - done.size_before
                self._put(_Anchored(done.value, size, done.height), done.anchor, done.line)

    def _check_depth(self, height: int, line: int) -> None:
        """Refuse a value of so many levels where it would be too deep."""
        if len(self._open) + height > DEEPEST:
            raise YamlProblem(f"tables and lists are more than {DEEPEST} levels deep", line)

    def _refuse_tag(self, event: ScalarEvent | MappingStartEvent | SequenceStartEvent, line: int) -> None:
        """Refuse a value with a tag."""
        if event.tag not in (None, "!"):
            raise YamlProblem("a value has a tag (`!...`); tags are not used here", line)

    def _count(self, values: int, line: int) -> None:
        """Count values. Raises YamlProblem if they are too many."""
        self._size += values
        if self._size > MOST_VALUES:
            raise YamlProblem(f"there are more than {MOST_VALUES:,} values, those of aliases included", line)

    def _put(self, found: _Anchored, anchor: str | None, line: int) -> None:
        """Put a value, or a key, where it belongs, and remember it where it has an anchor."""
        if anchor is not None:
            self._anchors[anchor] = found
        if not self._open:
            if self.documents:
                raise YamlProblem("a second document begins; only one is read", line)
            self.documents.append(found.value)
            return
        into = self._open[-1]
        into.height = max(into.height, 1 + found.height)
        if isinstance(into.value, list):
            into.value.append(found.value)
        elif not into.has_key:
            self._put_key(into, found.value, line)
        else:
            self._put_entry(into, found.value, line)

    def _put_key(self, into: _Open, key: Any, line: int) -> None:
        """Begin an entry of a table. Raises YamlProblem if its key cannot be one, or is there already."""
        if isinstance(key, dict | list):
            raise YamlProblem("a key is a table or a list; keys are single words", line)
        if key != _MERGE and key in into.lines:
            name = key if len(str(key)) <= 80 else f"{str(key)[:80]}..."
            raise YamlProblem(f"`{name}` is given twice, first at line {into.lines[key]}; remove one of them", line)
        into.lines[key] = line
        into.key, into.has_key = key, True

    def _put_entry(self, into: _Open, value: Any, line: int) -> None:
        """Complete an entry of a table."""
        into.has_key = False
        if into.key != _MERGE:
            into.value[into.key] = value
            return
        tables = value if isinstance(value, list) else [value]
        if not all(isinstance(table, dict) for table in tables):
            raise YamlProblem("`<<` merges something that is not a table", line)
        into.merged.extend(tables)


def _scalar(event: ScalarEvent, line: int) -> Any:
    """Return the value of a single word or text."""
    text = event.value
    if found := _UNUSABLE.search(text):
        raise YamlProblem(f"the character U+{ord(found[0]):04X} cannot be part of a text", line)
    if event.style or event.tag == "!":
        return text
    if text in _NULL:
        return None
    if text in _SWITCHES:
        return _SWITCHES[text]
    return _number(text) if len(text) <= _LONGEST_NUMBER else text


def _number(text: str) -> int | float | str:
    """Return the number that a word spells, or the word.

    >>> _number("0x_1f"), _number("1_000.5"), _number("-.inf"), _number("1e5"), _number("0b_")
    (31, 1000.5, -inf, '1e5', '0b_')
    """
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(text):
        unsigned = digits.lstrip("+-")
        base = _BASES.get(unsigned[:2], 8 if unsigned[0] == "0" and unsigned != "0" else 10)
        return int(digits, base) if unsigned not in _BASES else text
    if _FLOAT.fullmatch(text):
        return float(digits)
    special = _SPECIAL_FLOAT.fullmatch(text)
    return text if special is None else float(special[1] + "inf" if special[2] else "nan")
