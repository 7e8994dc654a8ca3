"""Medians, quartiles and ratios of measurements that were taken turn by turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles


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


def percentile(values: Sequence[float], share: int) -> float:
    """Return the value that `share` percent of the values do not exceed.

    >>> percentile([float(value) for value in range(101)], 99)
    99.0
    """
    return quantiles(values, n=100, method="inclusive")[share - 1] if len(values) > 1 else values[0]


def ratios(speeds: Mapping[int, float], others: Mapping[int, float]) -> list[float]:
    """Return the ratio of speeds in each round that both were measured in.

    >>> ratios({0: 4.0, 1: 9.0, 2: 1.0}, {0: 2.0, 1: 3.0})
    [2.0, 3.0]
    """
    return [speeds[number] / others[number] for number in sorted(speeds.keys() & others.keys())]
