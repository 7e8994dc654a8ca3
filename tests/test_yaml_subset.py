"""The part of YAML that recipes are written in."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dragoman import yaml_subset
from dragoman.runs.recipe import shipped, shipped_arenas
from dragoman.yaml_subset import DEEPEST, YamlProblem, read

SAME = """
[~, null, Null, "", '', yes, No, ON, off, true, False, y, n, 0, -1, +1, 1_000, 010, 08, 0x1F, 0b11, 1.0, 1., .5, 1e5, 1.5e+3,
 1.5e3, .inf, -.INF, .Inf, "1", '2', "yes", a b, a:b, "a\\tb", !!, 0x, 0b, "<<", -, 1-2]
"""


@pytest.mark.parametrize("word", [word.strip() for word in SAME.strip()[1:-1].split(",")])
def test_words_are_read_as_pyyaml_reads_them(word: str) -> None:
    try:
        expected = yaml.safe_load(word)
    except yaml.YAMLError:
        with pytest.raises(YamlProblem):
            read(word)
        return
    found = read(word)
    assert found == expected
    assert type(found) is type(expected)


def test_what_is_no_number_is_a_number_too() -> None:
    assert math.isnan(read(".nan"))


@pytest.mark.parametrize("word", ["12:30", "1:1:1.5", "2024-01-01", "2024-13-45", "2001-12-14 21:59:43.10"])
def test_dates_and_base_60_numbers_are_text(word: str) -> None:
    assert read(word) == word


@pytest.mark.parametrize("path", [*shipped().values(), *shipped_arenas().values()], ids=lambda path: path.stem)
def test_shipped_recipes_are_read_as_pyyaml_reads_them(path) -> None:
    text = path.read_text(encoding="utf-8")
    assert read(text) == yaml.safe_load(text)


def test_block_scalars_keys_and_nothing_are_read() -> None:
    assert read("") is None
    assert read("# only a comment\n") is None
    assert read("a: |\n  x\n  y\nb: >\n  x\n  y\n1: 2\n? c\n: d\n") == {"a": "x\ny\n", "b": "x y\n", 1: 2, "c": "d"}
    assert read("&a key: *a") == {"key": "key"}
    assert read("! 12") == "12"


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.booleans() | st.none()
values = st.recursive(
    words | numbers, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3)
)


@given(values, st.booleans())
def test_what_is_written_is_read_back(value: object, flow: bool) -> None:
    assert read(yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True)) == value


@given(st.text(max_size=40) | st.text("[]{}:,-?&*!|>%@`'\"# \n\ta1", max_size=40))
def test_any_text_has_a_value_or_a_problem_with_a_line(text: str) -> None:
    try:
        read(text)
    except YamlProblem as problem:
        assert 1 <= problem.line <= len(text.splitlines()) + 1


def test_depth_and_size_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_subset, "MOST_VALUES", 200)
    assert read("[" * DEEPEST + "]" * DEEPEST)
    assert len(read(f"[{'x, ' * 199}]")) == 199
    for text in ("[" * (DEEPEST + 1), f"[{'x, ' * 200}]", "- " * (DEEPEST + 1), f"{{a: {'[' * DEEPEST}"):
        with pytest.raises(YamlProblem):
            read(text)


def test_an_alias_of_what_is_not_complete_is_refused() -> None:
    with pytest.raises(YamlProblem, match=r"alias `\*a` has no anchor") as refused:
        read("x: 1\ny: &a [*a]")
    assert refused.value.line == 2
