"""Which cases of a test wait for `make slow`."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], quick: Container[Any]) -> list[Any]:
    """Return cases for `pytest.mark.parametrize`; all but the `quick` ones are run by `make slow` alone."""
    return [one if one in quick else pytest.param(*_values(one), marks=pytest.mark.slow) for one in cases]


def _values(case: Any) -> tuple[Any, ...]:
    """Return what a case gives to a test."""
    return case if type(case) is tuple else (case,)
