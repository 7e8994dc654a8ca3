"""Medians, quartiles and ratios of measurements that were taken turn by turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

ENOUGH = 100
"""So many values tell what one in a hundred exceeds."""


@dataclass(frozen=True)
class Spread:
    """A median and the quartiles around it."""

    low: float
    median: float
    high: float

    def __format__(self, how: str) -> str:
        """Write the median with the quartiles in brackets, each number in the format `how`.

        >>> f"{Spread(1.0, 2.0, 3.5):.1f}"
        '2.0 (1.0-3.5)'
        """
        return f"{self.median:{how}} ({self.low:{how}}-{self.high:{how}})"


def spread(values: Sequence[float]) -> Spread:
    """Return the median and the quartiles.

    >>> spread([4.0, 1.0, 3.0, 2.0, 5.0])
    Spread(low=2.0, median=3.0, high=4.0)
    >>> spread([2.0])
    Spread(low=2.0, median=2.0, high=2.0)
    """
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return Spread(low, middle, high)


def tail(values: Sequence[float]) -> tuple[str, float]:
    """Return what is called p99 where there are values enough to know it, else the largest one; and its name.

    >>> tail([1.0, 3.0, 2.0])
    ('largest', 3.0)
    >>> tail([float(value) for value in range(101)])
    ('p99', 99.0)
    """
    if len(values) < ENOUGH:
        return "largest", max(values)
    return "p99", quantiles(values, n=100, method="inclusive")[98]


def ratios(speeds: Mapping[Any, float], others: Mapping[Any, float]) -> list[float]:
    """Return the ratio of speeds in each turn (a sitting and a round in it) that both had.

    >>> ratios({(1, 0): 4.0, (1, 1): 9.0, (2, 2): 1.0}, {(1, 0): 2.0, (1, 1): 3.0, (1, 2): 1.0})
    [2.0, 3.0]
    """
    return [speeds[number] / others[number] for number in sorted(speeds.keys() & others.keys())]
