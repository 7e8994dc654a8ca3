"""Cost against work: what one step, and one pair encoded, cost as corpus, sentences, batch, vocabulary and width grow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.speed.bench import Bench, begin_sitting
from benchmarks.speed.calibration import rates
from benchmarks.speed.children import Child, Peer, PeerError, python_of
from benchmarks.speed.page import memory, table
from benchmarks.speed.records import Record, matching
from benchmarks.speed.statistics import spread

TITLE = "Cost against work"
DRAGOMAN = Peer("dragoman", "Dragoman", script=Path(__file__).parents[1] / "peers" / "growth.py")
USUAL = {"length": 16, "rows": 128, "vocabulary": 8000, "width": 256}


@dataclass(frozen=True)
class Axis:
    """What grows, and through which values."""

    name: str
    title: str
    values: tuple[int, ...]
    rest: Mapping[str, int]
    """What differs from `USUAL`."""


AXES = (
    Axis("pairs", "pairs encoded into the store", (10_000, 30_000, 100_000, 300_000, 1_000_000), {}),
    Axis("length", "tokens of a sentence, 2,048 in a batch", (8, 16, 32, 64, 128, 256, 512), {}),
    Axis("rows", "sentences in a batch, 16 tokens each", (1, 4, 16, 64, 256), {}),
    Axis("vocabulary", "pieces in the vocabulary", (4000, 8000, 16_000, 32_000, 64_000), {"rows": 64}),
    Axis("width", "width of the model", (128, 256, 512, 1024), {"rows": 64}),
)
QUICK = {"pairs": (1000, 2000), "length": (4, 8), "rows": (1, 2), "vocabulary": (500, 600), "width": (16, 32)}
KNEES = """\
Where a size costs more or less than its arithmetic says:

- few sentences: a step has a part that does not depend on them. The optimiser reads and writes every weight, and all operations
  of the step are called; the profile above shows how much each takes.
- narrow models: a matrix product reaches a smaller share of the machine's rate where its matrices are small.
- vocabulary: its matrix, the gradient and the optimiser's two means are read and written in each step (16 MB at 4,000 pieces,
  262 MB at 64,000); that is no FLOPs, so it is not in what is expected, and a small vocabulary looks cheap.
- few pairs: processes that encode have to be started, about 0.4 s.
- long sentences: attention grows with the square of the length, which is in what is expected.
"""
CELLS = 2048
"""Tokens of a side in a batch while sentences grow."""


def run(bench: Bench) -> None:
    """Measure each size in a process of its own, in rounds, as often as there is no record yet."""
    if not bench.wants(DRAGOMAN):
        return
    rounds = min(bench.rounds, 2)
    settings = {"usual": USUAL, "quick": bench.quick, "seconds": bench.seconds}
    records = bench.records("growth", settings, of_peers=False)
    wanted = [
        (axis, value, number)
        for number in range(rounds)
        for axis in AXES
        for value in (QUICK[axis.name] if bench.quick else axis.values)
        if (number == 0 or axis.name != "pairs") and not records.all("turn", axis=axis.name, value=value, round=number)
    ]
    sitting = begin_sitting(records) if wanted else 0
    for axis, value, number in wanted:
        bench.say(f"growth: round {number + 1} of {rounds}, {value:,} {axis.title.split(',')[0]}")
        message = sized(axis, value, quick=bench.quick)
        child = Child(DRAGOMAN, python_of(DRAGOMAN, bench.work, bench.say), bench.work / "logs" / "growth.log")
        try:
            loaded = child.ask("load", **message)
            before = rates()
            if axis.name == "pairs":
                answer = child.ask("encode", within=1800.0, **message)
            else:
                answer = child.ask("steps", for_seconds=bench.seconds / 4)
            after = rates()
        except PeerError as error:
            records.add(
                "skipped", contestant=f"{axis.name}-{value}", title=f"{value:,} {axis.title}", reason=str(error)
            )
            continue
        finally:
            child.close()
        calibrated = {name: (before[name] + after[name]) / 2 for name in before}
        given = {"axis": axis.name, "title": axis.title, "value": value, "round": number, "sitting": sitting}
        tokens = 2 * message["rows"] * message["length"]
        records.add("turn", **given, **{**loaded, **answer}, calibration=calibrated, tokens=tokens)


def sized(axis: Axis, value: int, *, quick: bool) -> dict[str, Any]:
    """Return the arguments of a child for a size."""
    sizes = {**USUAL, **({"vocabulary": 500, "width": 16} if quick else {}), **axis.rest, axis.name: value}
    if axis.name == "length":
        sizes["rows"] = max(1, CELLS // value)
    width = sizes.pop("width")
    heads = max(1, width // 64)
    layers = {"encoder_layers": 3, "decoder_layers": 3}
    return sizes | {"model": {**layers, "width": width, "feed_forward": 4 * width, "heads": heads, "norm": "pre"}}


def section(records: Sequence[Record], pictures: Path) -> list[str]:
    """Write a table for each axis, and draw all of them."""
    lines = [
        "Dragoman alone, Transformer of 3+3 layers, width 256, 8,000 pieces, 128 sentences of 16 tokens (64 where vocabulary "
        "or width grow), fp32; each size in a process of its own. Work is the FLOPs of a step, counted by torch (for encoding: "
        "pairs). `expected` is the time if each unit of work cost as much as at the largest size; times are corrected by the "
        "matrix product timed with them.",
        "",
    ]
    series = {axis.name: points(records, axis.name) for axis in AXES}
    series = {name: found for name, found in series.items() if found}
    if series:
        draw(series, pictures / "growth.png", {axis.name: axis.title for axis in AXES})
        lines += [f"![Time against size, with what its arithmetic says]({pictures.name}/growth.png)", ""]
    for axis in AXES:
        rows = [
            [
                f"{point['value']:,}",
                f"{point['seconds']:.3g}",
                f"{point['expected']:.3g}",
                f"{point['seconds'] / point['expected']:.2f}",
                f"{point['per']:,.1f}",
                point["memory"],
            ]
            for point in series.get(axis.name, [])
        ]
        per = "µs a pair" if axis.name == "pairs" else "µs a token"
        lines += table([axis.title, "seconds", "expected", "seconds / expected", per, "peak MB"], rows) if rows else []
    return [*lines, *KNEES.split("\n")]


def points(records: Sequence[Record], axis: str) -> list[dict[str, Any]]:
    """Return the size, time, expected time and memory of each value of an axis, by value."""
    turns = matching(records, what="turn", axis=axis)
    usual = spread([turn["calibration"]["float32"] for turn in turns]).median if turns else 1.0
    found = []
    for value in sorted({turn["value"] for turn in turns}):
        here = matching(turns, value=value)
        seconds = spread([turn["seconds"] * (turn["calibration"]["float32"] / usual) for turn in here]).median
        work = value if axis == "pairs" else here[0]["flops"]
        units = value if axis == "pairs" else here[0]["tokens"]
        found.append(
            {"value": value, "seconds": seconds, "work": work, "per": seconds / units * 1e6, "memory": memory(here)}
        )
    for point in found:
        point["expected"] = found[-1]["seconds"] * point["work"] / found[-1]["work"]
    return found


def draw(series: Mapping[str, Sequence[Mapping[str, Any]]], path: Path, titles: Mapping[str, str]) -> None:
    """Draw each axis: points for what was measured, a line for what the arithmetic says."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(3.2 * len(series), 3.2), dpi=100, layout="constrained")
    for place, (name, found) in zip(figure.subplots(1, len(series), squeeze=False)[0], series.items(), strict=True):
        values = [point["value"] for point in found]
        place.loglog(values, [point["seconds"] for point in found], "o", label="measured")
        place.loglog(values, [point["expected"] for point in found], "-", label="expected")
        place.set_xticks(values, [f"{value:,}" for value in values], fontsize=7, rotation=45)
        place.minorticks_off()
        times = [point[name] for point in found for name in ("seconds", "expected")]
        place.set_ylim(min(times) / 2, max(times) * 2)
        place.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        place.yaxis.set_major_formatter("{x:g}")
        place.set_title(titles[name], fontsize=9)
        place.set_ylabel("seconds" if name == "pairs" else "seconds a step", fontsize=8)
        place.legend(fontsize=8)
    FigureCanvasAgg(figure).print_png(path, metadata={"Software": None})
