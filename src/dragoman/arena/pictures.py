"""The pictures of an arena: BLEU against training FLOPs with error bars, and learning curves on dev."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dragoman.arena.folder import Folder
from dragoman.arena.results import Outcome, Row, SystemResult
from dragoman.arena.tables import ranked
from dragoman.inspection.rendering import render, write_picture
from dragoman.training.reports import MetricsFile

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1b1f24"
"""Colour of text and lines; a page substitutes its own."""
COLOURS = (
    "#1d5fae", "#667080", "#2a9d5c", "#e08e0b", "#7b4fa3", "#16999c",
    "#b5651d", "#d46aa8", "#5f7d1f", "#d1495b", "#a02020", "#4f86d9",
)  # fmt: skip
"""Colours of the systems, in the order of the arena."""
MARKS = "osD^vPXhd<>p"
"""Markers of the systems, for readers who cannot distinguish the colours."""


@dataclass(frozen=True)
class Look:
    """The colour and marker of a system in every picture."""

    colour: str
    mark: str


def looks(outcome: Outcome) -> dict[str, Look]:
    """Assign each system, ensembles included, a colour and a marker."""
    return {
        one.system: Look(COLOURS[number % len(COLOURS)], MARKS[(number + number // len(COLOURS)) % len(MARKS)])
        for number, one in enumerate(outcome.standings)
    }


def write_pictures(outcome: Outcome, folder: Folder) -> dict[str, str]:
    """Write both pictures as PNG and SVG; return the SVGs for a page, by name."""
    words = "".join(one.system for one in outcome.standings)
    records = dev_records(outcome, folder)
    figures = {"bleu-flops": lambda: _costs(outcome), "curves": lambda: _curves(outcome, records)}
    inside = {}
    for name, figure in figures.items():
        for suffix in (".png", ".svg"):
            write_picture(folder.path / f"{name}{suffix}", words, page=str, figure=figure)
        svg = render(figure, words, "svg", transparent=True).decode("utf-8")
        inside[name] = svg[svg.index("<svg") :].replace(INK, "currentColor")
    return inside


def dev_records(outcome: Outcome, folder: Folder) -> dict[str, list[list[dict[str, Any]]]]:
    """Return the validation records of each trained system, seed by seed."""
    return {
        standing.system: [_validations(folder, row) for row in standing.done]
        for standing in outcome.standings
        if standing.done and not standing.members
    }


def _validations(folder: Folder, row: Row) -> list[dict[str, Any]]:
    """Return the records of one training that contain a dev BLEU."""
    path = folder.run(f"{row.system}/seed-{row.seed}") / "metrics.jsonl"
    records = MetricsFile(path).read()
    return [record for record in records if record.get("dev_bleu") is not None and "averaged" not in record]


def _costs(outcome: Outcome) -> "Figure":
    """Draw BLEU against FLOPs, with the names of the systems next to their points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 5.4), layout="constrained")
    panel = figure.subplots()
    seen, look = [one for one in ranked(outcome) if one.done], looks(outcome)
    for standing in seen:
        _point(panel, standing, look[standing.system])
    _plain(panel)
    if seen:
        panel.set_xscale("log")
        _powers(panel, [standing.mean("flops") or 1.0 for standing in seen])
        _names(panel, seen, look)
    panel.set_ylabel("BLEU", color=INK)
    panel.set_xlabel("training FLOPs (counted; for an ensemble, the sum over its members)", color=INK)
    several = {len(one.done) > 1 for one in seen}
    over = " or ".join(["seeds"] * (True in several) + ["test sentences"] * (False in several))
    kind = f"95% intervals over {over}" if over else "95% intervals"
    panel.set_title(f"BLEU on the test corpus, with {kind}", loc="left", color=INK, fontsize=11, fontweight="bold")
    return figure


def _point(panel: "Axes", standing: SystemResult, look: Look) -> None:
    """Draw one system with its error bar; ensembles are hollow."""
    flops, bleu, interval = standing.mean("flops"), standing.mean("bleu"), standing.interval
    assert flops is not None and bleu is not None and interval is not None
    panel.errorbar(
        [flops],
        [bleu],
        yerr=[[bleu - max(0.0, interval[0])], [max(0.0, interval[1] - bleu)]],
        fmt=look.mark,
        color=look.colour,
        markersize=8,
        markerfacecolor="none" if standing.members else look.colour,
        markeredgewidth=1.6,
        elinewidth=1.4,
        capsize=4,
    )


def _powers(panel: "Axes", flops: Sequence[float]) -> None:
    """Mark the axis of FLOPs at 1, 2 and 5 times each power of ten, as 2·10¹⁴; over a wide range, at the powers only."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from dragoman.arena.tables import powers

    low, high = min(flops) / 1.6, max(flops) * 1.6
    digits = (1, 2, 5) if high < 100 * low else (1,)
    places = [digit * 10.0**power for power in range(-1, 40) for digit in digits]
    panel.set_xlim(low, high)
    panel.xaxis.set_major_locator(FixedLocator([place for place in places if low <= place <= high]))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: powers(value).replace(".0·", "·")))


def _names(panel: "Axes", seen: Sequence[SystemResult], look: Mapping[str, Look]) -> None:
    """Label the systems on the right, from best to worst, each at the height of its point if there is room."""
    low, high = panel.get_ylim()
    gap = 0.052 * (high - low)
    heights: list[float] = []
    for standing in seen:
        requested = standing.mean("bleu") or 0.0
        heights.append(min(requested, heights[-1] - gap) if heights else requested)
    lift = max(0.0, low - heights[-1]) if heights else 0.0
    for index in range(len(heights) - 1, -1, -1):
        below = heights[index + 1] + gap if index + 1 < len(heights) else -float("inf")
        heights[index] = max(heights[index], min(heights[index] + lift, high), below if lift else heights[index])
    edge = panel.get_xlim()[1]
    for standing, height in zip(seen, heights, strict=True):
        colour = look[standing.system].colour
        point = (standing.mean("flops") or 1.0, standing.mean("bleu") or 0.0)
        panel.plot([point[0], edge], [point[1], height], color=colour, linewidth=0.6, alpha=0.45, zorder=1)
        panel.annotate(
            f"{standing.system}  {point[1]:.1f}",
            (edge, height),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=9,
            annotation_clip=False,
        )


def _curves(outcome: Outcome, records: Mapping[str, list[list[dict[str, Any]]]]) -> "Figure":
    """Draw dev BLEU over FLOPs and over time, a line for each seed of each system."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    look, lines = looks(outcome), []
    for name, seeds in sorted(
        records.items(), key=lambda item: -max((r["dev_bleu"] for s in item[1] for r in s), default=0)
    ):
        for number, seed in enumerate(seeds):
            bleu = [record["dev_bleu"] for record in seed]
            style: dict[str, Any] = {"color": look[name].colour, "linewidth": 1.5, "marker": look[name].mark}
            style |= {"markersize": 3.5, "alpha": 1.0 if number == 0 else 0.45}
            left.plot([record.get("flops") or float("nan") for record in seed], bleu, **style)
            (line,) = right.plot([record["seconds"] / 60 for record in seed], bleu, **style)
            if number == 0:
                lines.append((line, name))
    for panel, words in ((left, "training FLOPs"), (right, "minutes of training")):
        _plain(panel)
        panel.set_xlabel(words, color=INK)
    spent = [float(r["flops"]) for seeds in records.values() for seed in seeds for r in seed if r.get("flops")]
    if spent:
        left.set_xscale("log")
        _powers(left, spent)
        left.tick_params(axis="x", rotation=30)
    left.set_ylabel("BLEU", color=INK)
    left.set_title("BLEU on dev during training", loc="left", color=INK, fontsize=11, fontweight="bold")
    if lines:
        figure.legend(
            *zip(*lines, strict=True), loc="outside right center", frameon=False, fontsize=8.5, labelcolor=INK
        )
    return figure


def _plain(panel: "Axes") -> None:
    """Reduce the axes to two lines and horizontal grid lines."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set(color=INK, alpha=0.4)
    panel.tick_params(colors=INK, labelsize=9)
    panel.grid(axis="y", color=INK, alpha=0.12, linewidth=0.8)
    panel.set_axisbelow(True)
