"""Text that others wrote is parsed by readers that limit depth and size."""

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, Source, dotted, planted, sources, violations

READERS = {
    "json.loads": "json_files.py",
    "json.load": "json_files.py",
    "yaml.parse": "yaml_subset.py",
    **dict.fromkeys(("yaml.safe_load", "yaml.safe_load_all"), "yaml_subset.py"),
}
"""Calls that a text may lead into endless depth or size, and the one file that may make each."""


def text_is_read_by_readers_with_limits(source: Source) -> Iterator[str]:
    """Find parsers of a library that are called directly."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and READERS.get(name := dotted(node.func), str(source.path)) != str(source.path):
            yield source.at(node, f"{name} has no limits; use {READERS[name]}")


def test_text_is_read_by_readers_with_limits():
    found = violations(text_is_read_by_readers_with_limits, sources(PACKAGE))
    assert not found, found


@pytest.mark.parametrize("text", ["json.loads(text)", "json.load(file)", "yaml.safe_load(text)", "yaml.parse(text)"])
def test_a_reader_without_limits_is_found(text: str):
    assert len(list(text_is_read_by_readers_with_limits(planted(text)))) == 1


@pytest.mark.parametrize("text", ["json.dumps(table)", "parse_json(text)", "yaml.safe_dump(table)"])
def test_writers_and_own_readers_are_fine(text: str):
    assert list(text_is_read_by_readers_with_limits(planted(text))) == []
    assert list(text_is_read_by_readers_with_limits(planted("json.loads(text)", "json_files.py"))) == []
