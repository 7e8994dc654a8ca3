"""Commands in messages can be pasted: a path in one is written as a shell reads it."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.architecture.source import PACKAGE, Source, planted, sources, violations

COMMAND = re.compile(r"dragoman [a-z]+ [^`\n]*$")
"""Text that ends inside a command."""
PATH = re.compile(r"(?i)(^|[._\[(])(run|folder|path|file|files|recipe|name|keys|store)\b")
"""What paths are called."""


def paths_in_commands_are_for_a_shell(source: Source) -> Iterator[str]:
    """Find paths that a message puts into a command as they are: with a space in it, the command would not work."""
    for node in source.nodes:
        before = ""
        for part in node.values if isinstance(node, ast.JoinedStr) else ():
            if isinstance(part, ast.FormattedValue):
                value = ast.unparse(part.value)
                if COMMAND.search(before) and PATH.search(value) and "shell_path(" not in value:
                    yield source.at(node, f"write shell_path({value}) in a command")
                before += "0"
            else:
                before += ast.literal_eval(part)


def test_paths_in_commands_are_for_a_shell():
    found = violations(paths_in_commands_are_for_a_shell, sources(PACKAGE))
    assert not found, found


@pytest.mark.parametrize(
    "text",
    [
        'f"make one with `dragoman calibrate {folder}`"',
        'f"continue it with `dragoman train --resume {self.folder}`, or wait"',
        'f"let `dragoman grow {shell_path(run)} --source {files[0]}` make one"',
        'f"Use it with: dragoman translate {run} --confidence"',
    ],
)
def test_a_path_as_it_is_is_found(text):
    assert len(list(paths_in_commands_are_for_a_shell(planted(text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        'f"make one with `dragoman calibrate {shell_path(folder)}`"',
        'f"use `dragoman {name}`"',
        'f"{folder} has no shortlist; `dragoman shortlist RUN` makes one"',
        'f"use `dragoman fill RUN`, not {folder}"',
        'f"use `dragoman compare ARENA --set budget.minutes={minutes}`"',
    ],
)
def test_what_is_no_path_or_in_no_command_is_fine(text):
    assert list(paths_in_commands_are_for_a_shell(planted(text))) == []
