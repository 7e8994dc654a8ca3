"""A Griffe extension that shows the doctests of docstrings as code on the pages of the Python API."""

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n|```).+)*", re.MULTILINE)
FLAG = re.compile(r"  # doctest: \+\w+")


class FencedDoctests(Extension):
    """Puts a fence around each doctest, without the flags that only doctest reads."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring with its doctests as fenced code.

    >>> fenced("Add.\\n\\n>" + ">> 1 + 1\\n2").split("\\n")
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    return EXAMPLE.sub(lambda match: f"```pycon\n{FLAG.sub('', match[0])}\n```", text)
