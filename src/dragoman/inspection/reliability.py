"""The reliability curve as SVG: what was predicted against what came true."""

from collections.abc import Sequence
from html import escape

from dragoman.metrics.calibration import Bin

SIZE, LEFT, TOP, BOTTOM = 260, 46, 30, 40
"""Size of the square, and the margins around it for numbers and names."""


def draw_reliability(bins: Sequence[Bin], title: str) -> str:
    """Draw a point for each bin; on the diagonal, confidence is exactly as high as the share of good ones."""
    points = [(_x(one.predicted), _y(one.observed)) for one in bins]
    ticks = [
        f'<path d="M{_x(at):.1f} {TOP}v{SIZE}M{LEFT} {_y(at):.1f}h{SIZE}" stroke="currentColor" stroke-opacity="0.15"/>'
        f'<text x="{_x(at):.1f}" y="{TOP + SIZE + 14}" text-anchor="middle">{at:g}</text>'
        f'<text x="{LEFT - 6}" y="{_y(at):.1f}" dy="4" text-anchor="end">{at:g}</text>'
        for at in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1d5fae"><title>confidence {one.predicted:.2f}: '
        f"{one.observed:.0%} of {one.count} good</title></circle>"
        for (x, y), one in zip(points, bins, strict=True)
    ]
    curve = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) if points else ""
    width, height = LEFT + SIZE + 14, TOP + SIZE + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
            f' fill="#444" color="#444" font-family="sans-serif" font-size="11" aria-label="{escape(title)}">',
            f'<text x="{LEFT}" y="16" font-size="13">{escape(title)}</text>',
            *ticks,
            f'<path d="M{LEFT} {TOP + SIZE}L{LEFT + SIZE} {TOP}" stroke="currentColor" stroke-dasharray="4 4"/>',
            f'<path d="{curve}" fill="none" stroke="#1d5fae" stroke-width="1.75"/>',
            *dots,
            f'<text x="{LEFT + SIZE / 2}" y="{TOP + SIZE + 32}" text-anchor="middle">confidence</text>',
            f'<text x="12" y="{TOP + SIZE / 2}" text-anchor="middle" transform="rotate(-90 12 {TOP + SIZE / 2})">'
            "share of good ones</text>",
            "</svg>",
        ]
    )


def _x(value: float) -> float:
    """Return the x coordinate of a confidence."""
    return LEFT + SIZE * value


def _y(value: float) -> float:
    """Return the y coordinate of a share."""
    return TOP + SIZE * (1 - value)
