"""The words, rows and picture of the part `quality`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.page import table
from benchmarks.speed.records import Record

MOST = 12
"""Validations shown in a table."""


def described(batches: Sequence[Mapping[str, Any]], dev: Sequence[Any]) -> dict[str, float]:
    """Say how much there is to learn and to translate."""
    target = sum(len(sentence) + 1 for batch in batches for sentence in batch["target"])
    pairs = sum(len(batch["target"]) for batch in batches)
    return {"target_tokens": target / len(batches), "pairs": pairs, "dev": len(dev)}


def peer_rows(records: Sequence[Record]) -> list[list[str]]:
    """Return a row for each trainer."""
    return [
        [
            record["title"],
            f"{record['bleu']:.2f}",
            f"{record['chrf']:.2f}",
            f"{record['seconds'] / 60:.1f}",
            f"{record['epochs']:.1f}",
            f"{record['target'] / record['seconds']:,.0f}",
            f"{product(record) / 1e9:,.0f}",
            record["note"],
        ]
        for record in sorted(records, key=lambda record: -record["bleu"])
    ]


def product(record: Record) -> float:
    """Return the mean rate of the matrix product over a run."""
    calibration = record["calibration"]
    rates = [one["float32"] for one in (calibration["before"], *calibration["during"], calibration["after"])]
    return sum(rates) / len(rates)


def reached(run: Record, goal: float) -> Mapping[str, Any] | None:
    """Return the first point of a run whose dev BLEU is at least the goal."""
    return next((point for point in run["curve"] if point["bleu"] >= goal), None)


def own_rows(runs: Sequence[Record], peers: Sequence[Record]) -> list[str]:
    """Write when each run of Dragoman reached what the peers did, and its BLEU over time."""
    lines: list[str] = []
    if peers:
        goals = sorted(peers, key=lambda record: -record["bleu"])
        rows = [[run["title"], *(_moment(run, goal) for goal in goals)] for run in runs]
        head = ["", *(f"{goal['title']}: {goal['bleu']:.2f}" for goal in goals)]
        best = goals[0]
        lines += [
            f"When Dragoman first had a peer's dev BLEU: seconds since its training began, in brackets as a share of the "
            f"peer's; then the same without validations. The best peer is {best['title']}.",
            "",
            *table(head, rows),
        ]
    for run in runs:
        points = shown(run["curve"], MOST)
        rows = [
            ["seconds", *(f"{point['seconds']:,.0f}" for point in points)],
            ["without validations", *(f"{point['training']:,.0f}" for point in points)],
            ["dev BLEU", *(f"{point['bleu']:.2f}" for point in points)],
        ]
        head = [run["title"], *("end" if point.get("end") else str(at) for at, point in enumerate(points, 1))]
        lines += [
            f"{run['title']}: {run['whole']:,.0f} seconds from the start of the process to its end, in which reading, pieces and "
            f"encoding come before training; {run['validating']:,.0f} seconds are validations. `end` is what the run kept, with "
            "the time of the whole process.",
            "",
            *table(head, rows),
        ]
    return lines


def shown(points: Sequence[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """Return at most `most` points, spread evenly, the last one always.

    >>> [point["at"] for point in shown([{"at": at} for at in range(7)], 3)]
    [0, 3, 6]
    """
    if len(points) <= most:
        return list(points)
    return [points[round(at * (len(points) - 1) / (most - 1))] for at in range(most)]


def _moment(run: Record, goal: Record) -> str:
    """Write when a run had a peer's BLEU."""
    point = reached(run, goal["bleu"])
    if point is None:
        return "not reached"
    times = [f"{point[name]:,.0f} s ({point[name] / goal['seconds']:.2f})" for name in ("seconds", "training")]
    return "; ".join(times)


def draw(peers: Sequence[Record], runs: Sequence[Record], path: Path) -> None:
    """Draw Dragoman's dev BLEU over time, and the peers as points at their end with a line at their BLEU."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7, 4), dpi=100, layout="constrained")
    place = figure.subplots()
    for run in runs:
        curve = [(point["seconds"] / 60, point["bleu"]) for point in run["curve"] if not point.get("end")]
        place.plot(*zip(*curve, strict=True), ".-", label=run["title"])
    for number, peer in enumerate(sorted(peers, key=lambda record: -record["bleu"]), len(runs)):
        place.axhline(peer["bleu"], color=f"C{number}", linewidth=0.8, linestyle="--")
        place.plot(
            [peer["seconds"] / 60],
            [peer["bleu"]],
            "s",
            color=f"C{number}",
            label=f"{peer['title']}: {peer['bleu']:.2f}",
        )
    place.set_xlim(left=0)
    place.set_xlabel("minutes of training", fontsize=9)
    place.set_ylabel("dev BLEU", fontsize=9)
    place.legend(fontsize=8, loc="lower right")
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})
