"""Counters and histograms in the text format of Prometheus (exposition format 0.0.4)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods that are counted by their names: a caller can invent any number of others."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the classes of durations."""

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What a service has done since it started."""

    def __init__(self) -> None:
        self._requests: Counter[Labels] = Counter()
        self._seconds: dict[Labels, Counter[int]] = {}
        self._totals: Counter[Labels] = Counter()
        self._amounts: Counter[str] = Counter()
        self.in_progress = 0
        """Requests that are being answered."""

    def count(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request that was answered."""
        self._requests[
            ("method", method if method in METHODS else "other"), ("route", route), ("status", str(status))
        ] += 1
        where: Labels = (("route", route),)
        self._seconds.setdefault(where, Counter())[bisect_left(SECONDS, seconds)] += 1
        self._totals[where] += seconds  # type: ignore[assignment]

    def add(self, name: str, amount: int) -> None:
        """Add to an amount, such as the characters that were asked for."""
        self._amounts[name] += amount

    def text(self, models: Mapping[str, Mapping[str, float]]) -> str:
        """Return everything, with the figures of each model."""
        return "\n".join([*self._lines(), *_model_lines(models), ""])

    def _lines(self) -> Iterator[str]:
        """Yield the lines about requests."""
        yield "# TYPE dragoman_requests_total counter"
        yield from (_line("dragoman_requests_total", labels, count) for labels, count in self._requests.items())
        yield "# TYPE dragoman_requests_in_progress gauge"
        yield _line("dragoman_requests_in_progress", (), self.in_progress)
        yield "# TYPE dragoman_request_seconds histogram"
        for labels, classes in self._seconds.items():
            sums = accumulate(classes[number] for number in range(len(SECONDS) + 1))
            for bound, count in zip([*map(str, SECONDS), "+Inf"], sums, strict=True):
                yield _line("dragoman_request_seconds_bucket", (*labels, ("le", bound)), count)
            yield _line("dragoman_request_seconds_sum", labels, self._totals[labels])
            yield _line("dragoman_request_seconds_count", labels, classes.total())
        for name, amount in self._amounts.items():
            yield f"# TYPE dragoman_{name}_total counter"
            yield _line(f"dragoman_{name}_total", (), amount)


def _model_lines(models: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Yield the figures of models that are in memory: a counter begins at 0 again when its model is loaded again."""
    for name in dict.fromkeys(name for figures in models.values() for name in figures):
        yield f"# TYPE dragoman_model_{name} {'counter' if name.endswith('_total') else 'gauge'}"
        yield from (
            _line(f"dragoman_model_{name}", (("model", model),), figures[name]) for model, figures in models.items()
        )


def _line(name: str, labels: Labels, value: float) -> str:
    r"""Return one value.

    >>> _line("requests", (("route", 'a"b'),), 2)
    'requests{route="a\\"b"} 2'
    """
    escaped = [(key, text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for key, text in labels]
    inside = ",".join(f'{key}="{text}"' for key, text in escaped)
    return f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"
