"""Calls and results can be read without looking things up: few positions, and names for what comes out."""

from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, Function, Source, planted, sources, violations

POSITIONS = 3
"""Most parameters that may be given by position."""


def later_parameters_are_keywords(source: Source) -> Iterator[str]:
    """Find functions whose fourth parameter may be given by position, but for those that a library calls."""
    if source.name.startswith(f"{PACKAGE}/data/phrasebook/"):
        return  # its files are part of the checksum of every phrasebook run, which would not resume
    for function in source.functions:
        given = [one for one in (*function.args.posonlyargs, *function.args.args) if one.arg not in ("self", "cls")]
        if len(given) > POSITIONS and not _called_by_a_library(source, function):
            yield source.at(
                function, f"{function.name} takes `{given[POSITIONS].arg}` by position; write `*` before it"
            )


def _called_by_a_library(source: Source, function: Function) -> bool:
    """Tell whether torch or typer decides how a function is called.

    torch gives a `ctx` first to the passes of an operation, everything that a function is given to `__torch_function__` and to
    `__torch_dispatch__`, and to a formula of FLOPs more than it asks for, which ends in `**_`. typer calls the commands of
    `cli/`, which are its public functions.
    """
    first = (*function.args.posonlyargs, *function.args.args)[0]
    swallows = function.args.kwarg is not None and function.args.kwarg.arg.strip("_") == ""
    command = source.path.parts[0] == "cli" and not function.name.startswith("_")
    return swallows or command or first.arg == "ctx" or function.name in ("__torch_function__", "__torch_dispatch__")


def test_the_fourth_and_later_parameters_are_keywords():
    found = violations(later_parameters_are_keywords, sources(PACKAGE))
    assert not found, found


@pytest.mark.parametrize(
    "text",
    [
        "def f(a, b, c, d): ...",
        "def f(a, b, /, c, d, *, e): ...",
        "class C:\n    def f(self, a, b, c, d=1): ...",
        "class C:\n    @classmethod\n    async def f(cls, a, b, c, d): ...",
        "def f(a, b, c, d, **options): ...",
    ],
)
def test_a_fourth_position_is_found(text):
    assert [finding.partition(" takes ")[2] for finding in later_parameters_are_keywords(planted(text))] == [
        "`d` by position; write `*` before it"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def f(a, b, c, *, d, e): ...",
        "class C:\n    def f(self, a, b, c, *d): ...",
        "class C(Function):\n    @staticmethod\n    def forward(ctx, a, b, c, d): ...",
        "def cost(a, b, c, d, *_, **__): ...",
    ],
)
def test_what_a_library_calls_and_what_has_keywords_is_fine(text):
    assert list(later_parameters_are_keywords(planted(text))) == []


def test_commands_may_take_as_many_options_as_they_need_and_what_helps_them_may_not():
    text = "def command(a, b, c, d): ...\ndef _helper(a, b, c, d): ..."
    assert len(list(later_parameters_are_keywords(planted(text, "cli/new.py")))) == 1
