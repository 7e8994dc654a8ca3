"""Training curves as SVG: plain markup that inherits colours and fonts from the page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

WIDTH, HEIGHT = 340, 210
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 44, 26
"""Margins around the curves, for numbers and names."""
MOST_POINTS = 400
"""Longer curves keep only the lowest and the highest point of each interval, so that no peak is lost."""
MOST_READINGS = 120
"""Positions along a curve where hovering shows the numbers."""

Record = Mapping[str, Any]
"""One line of a run's `metrics.jsonl`."""
Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One curve: its name, the key of its numbers, and its colour."""

    name: str
    key: str
    colour: str


ACCENT, QUIET = "var(--accent, #1d5fae)", "var(--quiet, #5c6570)"
PANELS: Mapping[str, Sequence[Line]] = {
    "Loss per token": (Line("training", "loss", QUIET), Line("development", "dev_loss", ACCENT)),
    "BLEU, development": (Line("BLEU", "dev_bleu", ACCENT),),
    "Learning rate": (Line("learning rate", "learning_rate", ACCENT),),
}


def draw_curves(records: Sequence[Record]) -> tuple[str, ...]:
    """Draw loss, BLEU and learning rate over steps, one SVG each; what was never recorded is omitted.

    A record has a `step` and any of `loss`, `dev_loss`, `dev_bleu` and `learning_rate`; numbers that are not finite are
    skipped. Hovering over a curve shows its numbers, in a page styled by `page.css`.
    """
    panels = []
    for title, lines in PANELS.items():
        curves = {line: _points(records, line.key) for line in lines}
        if any(curves.values()):
            panels.append(_panel(title, {line: points for line, points in curves.items() if points}))
    return tuple(panels)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most `most` + 1 evenly spaced round numbers that enclose `low` and `high`.

    >>> ticks(0.0, 4.3)
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    steps = (power * factor for factor in (1, 2, 5, 10, 20))
    ends = ((step, math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)) for step in steps)
    step, first, last = next(found for found in ends if found[2] - found[1] <= most)
    return [float(f"{number * step:.10g}") for number in range(first, max(last, first + 1) + 1)]


def thin(points: Sequence[Point], most: int) -> list[Point]:
    """Return about `most` points at most: the lowest and the highest of each interval, in order, and both ends.

    >>> thin([(0.0, 1.0), (1.0, 9.0), (2.0, 2.0), (3.0, 3.0), (4.0, 0.0)], most=4)
    [(0.0, 1.0), (1.0, 9.0), (3.0, 3.0), (4.0, 0.0)]
    """
    if len(points) <= most:
        return list(points)
    stretch = math.ceil(2 * len(points) / most)
    kept = {points[0], points[-1]}
    for start in range(0, len(points), stretch):
        part = sorted(points[start : start + stretch], key=lambda point: point[1])
        kept |= {part[0], part[-1]}
    return sorted(kept)


def _points(records: Sequence[Record], key: str) -> list[Point]:
    """Collect the finite numbers of `key` by step; if a step was recorded twice, the later record counts."""
    found = {}
    for record in records:
        value = record.get(key)
        if isinstance(value, int | float) and math.isfinite(value):
            found[float(record["step"])] = float(value)
    return sorted(found.items())


def _panel(title: str, curves: Mapping[Line, Sequence[Point]]) -> str:
    """Draw one set of axes with its curves."""
    steps, values = zip(*[point for points in curves.values() for point in points], strict=True)
    across, up = ticks(0.0, max(steps)), ticks(min(0.0, *values), max(values), 4)
    scale = _Scale(across[-1], up[0], up[-1])
    parts = [
        f'<text x="0" y="14" font-size="13" font-weight="600">{escape(title)}</text>',
        *(_rule(scale, value) for value in up),
        f'<text x="{LEFT - 14}" y="{HEIGHT - 8}" text-anchor="end" fill="{QUIET}">step</text>',
        *(_step(scale, step) for step in across),
        *(_curve(scale, line, points) for line, points in curves.items()),
        _legend(curves),
        *_readings(scale, curves),
    ]
    summary = "; ".join(f"{line.name} from {_short(p[0][1])} to {_short(p[-1][1])}" for line, p in curves.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" fill="currentColor"'
        f' font-family="inherit" font-size="11" aria-label="{escape(f"{title} by step: {summary}")}">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


@dataclass(frozen=True)
class _Scale:
    """Coordinates of steps and values in the picture."""

    last_step: float
    low: float
    high: float

    def x(self, step: float) -> str:
        """Return the x coordinate of a step."""
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * step / self.last_step:.1f}"

    def y(self, value: float) -> str:
        """Return the y coordinate of a value."""
        share = (value - self.low) / (self.high - self.low)
        return f"{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share:.1f}"


def _rule(scale: _Scale, value: float) -> str:
    """Draw a horizontal grid line with its value on the left."""
    y = scale.y(value)
    return (
        f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="currentColor" stroke-opacity="0.15"/>'
        f'<text x="{LEFT - 6}" y="{y}" dy="4" text-anchor="end" fill="{QUIET}">{_short(value)}</text>'
    )


def _step(scale: _Scale, step: float) -> str:
    """Write a step below the curves."""
    return f'<text x="{scale.x(step)}" y="{HEIGHT - 8}" text-anchor="middle" fill="{QUIET}">{_short(step)}</text>'


def _curve(scale: _Scale, line: Line, points: Sequence[Point]) -> str:
    """Draw one curve, or a dot if there is only one point."""
    places = [f"{scale.x(step)} {scale.y(value)}" for step, value in thin(points, MOST_POINTS)]
    path = "M" + "L".join(places if len(places) > 1 else places * 2)
    width = 1.75 if len(places) > 1 else 6
    stroke = f'stroke="{line.colour}" stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round"'
    return f'<path d="{path}" fill="none" {stroke}/>'


def _legend(curves: Mapping[Line, Sequence[Point]]) -> str:
    """Name the curves if there are several."""
    if len(curves) == 1:
        return ""
    names = "".join(f'<tspan dx="14" fill="{line.colour}">● {line.name}</tspan>' for line in curves)
    return f'<text x="{WIDTH - RIGHT}" y="14" text-anchor="end">{names}</text>'


def _readings(scale: _Scale, curves: Mapping[Line, Sequence[Point]]) -> list[str]:
    """Return the numbers at each step, hidden until hovered over."""
    by_step: dict[float, list[tuple[Line, float]]] = {}
    for line, points in curves.items():
        for step, value in points:
            by_step.setdefault(step, []).append((line, value))
    stretch = math.ceil(len(by_step) / MOST_READINGS)
    every = sorted(by_step)
    rarest = {step: sum(1 / len(curves[line]) for line, _ in by_step[step]) for step in every}
    steps = [max(every[start : start + stretch], key=rarest.__getitem__) for start in range(0, len(every), stretch)]
    edges = [0.0, *((left + right) / 2 for left, right in pairwise(steps)), scale.last_step]
    return [
        _reading(scale, step, band, values=by_step[step]) for step, band in zip(steps, pairwise(edges), strict=True)
    ]


def _reading(scale: _Scale, step: float, band: tuple[float, float], *, values: Sequence[tuple[Line, float]]) -> str:
    """Return one reading: the band to hover over, a mark on each curve, and the numbers."""
    left, right = (float(scale.x(edge)) for edge in band)
    marks = "".join(
        f'<circle cx="{scale.x(step)}" cy="{scale.y(value)}" r="3" fill="{line.colour}"/>' for line, value in values
    )
    numbers = ", ".join(f"{line.name} {_short(value)}" for line, value in values)
    return (
        '<g class="at" opacity="0">'
        f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{HEIGHT - TOP}" fill-opacity="0"/>{marks}'
        f'<text x="{LEFT}" y="{TOP - 12}" fill="{QUIET}">step {step:,.0f}: {numbers}</text></g>'
    )


def _short(value: float) -> str:
    """Format a number in few characters.

    >>> [_short(value) for value in (0.0, 0.0005, 0.00003, 41.25, 999.7, 12000.0)]
    ['0', '0.0005', '3e-05', '41.2', '1,000', '12,000']
    """
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"
