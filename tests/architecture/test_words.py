"""Names are whole words of the field, files are named after what they hold, and nothing is left for later."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, Function, Source, planted, sources, violations

SHORT = {"src": "source", "tgt": "target", "trg": "target", "hyp": "hypothesis", "hyps": "hypotheses"}
EMPTY = frozenset({"util", "utils", "helper", "helpers", "misc", "common"})
LATER = ("TO" + "DO", "FIX" + "ME", "XX" + "X")


def words(name: str) -> list[str]:
    """Cut a name into its words.

    >>> words("maskedSrc_ids2"), words("BLEUScore")
    (['masked', 'src', 'ids'], ['bleu', 'score'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def bound(node: ast.AST) -> list[str]:
    """Return the names that `node` gives to something; those that other libraries chose are not ours to judge."""
    if isinstance(node, Function | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    if isinstance(node, ast.alias) and node.asname:
        return [node.asname]
    return []


def names_are_whole_words(source: Source) -> Iterator[str]:
    """Find abbreviations of the words used most."""
    for node in source.nodes:
        for name in bound(node):
            for word in set(words(name)) & SHORT.keys():
                yield source.at(node, f"`{name}`: write {SHORT[word]} for {word}")


def files_are_named_after_what_they_hold(source: Source) -> Iterator[str]:
    """Find files and folders whose names say nothing, and abbreviations in them."""
    for part in source.name.removesuffix(".py").split("/")[1:]:
        for word in set(words(part)) & (EMPTY | SHORT.keys()):
            yield source.at(source.tree, f"`{part}`: `{word}` does not say what is inside")


def nothing_is_left_for_later(source: Source) -> Iterator[str]:
    """Find notes of work not done, and functions that only promise."""
    for number, line in enumerate(source.text.split("\n"), 1):
        if set(LATER) & set(re.findall(r"\w+", line)):
            yield f"{source.name}:{number}: do it now, or write an issue"
    for node in source.nodes:
        if isinstance(node, ast.Name) and node.id == "NotImplementedError":
            yield source.at(node, "write the function, or make it abstract")


def test_names_are_whole_words():
    found = violations(names_are_whole_words, sources("src", "tests"))
    assert not found, found


def test_files_are_named_after_what_they_hold():
    found = violations(files_are_named_after_what_they_hold, sources("src", "tests"))
    assert not found, found


def test_nothing_is_left_for_later():
    found = violations(nothing_is_left_for_later, sources("src", "tests"))
    assert not found, found


@pytest.mark.parametrize(
    "text",
    [
        "def f(src): ...",
        "def hyp(): ...",
        "class HypPool: ...",
        "tgt_mask = 1",
        "self.hyps = []",
        "import torch as src",
        "lambda trg: 1",
        "for src_id in ids: ...",
        "x: int\nsrc: int",
        "with f() as srcFile: ...",
    ],
)
def test_an_abbreviation_is_found(text):
    assert len(list(names_are_whole_words(planted(text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "source = 1",
        "hyperbolic = resource = 2",
        "distributed.broadcast(x, src=0)",
        "layer(tgt_mask=m).src",
        "x = 'src'",
    ],
)
def test_whole_words_and_names_of_other_libraries_are_fine(text):
    assert list(names_are_whole_words(planted(text))) == []


@pytest.mark.parametrize(
    "path", ["utils.py", "data/helpers.py", "misc/a.py", "text/string_utils.py", "data/src_side.py"]
)
def test_a_file_name_that_says_nothing_is_found(path):
    assert len(list(files_are_named_after_what_they_hold(planted("", path)))) == 1


@pytest.mark.parametrize("text", [f'x = "{word}"  # {word}: more' for word in LATER] + ["raise NotImplementedError"])
def test_work_left_for_later_is_found(text):
    assert len(list(nothing_is_left_for_later(planted(text)))) == 1


def test_the_package_is_looked_at():
    assert len(sources(PACKAGE)) > 10
