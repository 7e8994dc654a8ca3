"""C++ for tests that need it."""

import sys

import pytest

from dragoman.native.compilation import Part, find_compiler, prepare


def require(part: Part) -> None:
    """Load a C++ part; skip the test where nothing can compile it."""
    if sys.platform != "linux" or not find_compiler():
        pytest.skip("no C++ compiler here")
    prepare(part)
