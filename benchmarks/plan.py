"""Predicted against real: `dragoman plan`, then the same training, for several architectures: `python -m benchmarks.plan`.

Each architecture is planned for a minute of training; then it is trained for as many steps as the plan says, in a process of its
own. Time is that of steps and validations, memory the peak of the process, as the run's manifest has them.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.command import dragoman, set_options

from dragoman.machine.provenance import commit, machine

MODELS: dict[str, dict[str, Any]] = {
    "Transformer, 3+3 layers of 256": {
        "kind": "transformer",
        "encoder_layers": 3,
        "decoder_layers": 3,
        "width": 256,
        "feed_forward": 1024,
        "heads": 4,
        "dropout": 0.1,
    },
    "RNN of Bahdanau, 256": {
        "kind": "rnn",
        "decoder": "bahdanau",
        "embedding": 256,
        "hidden": 256,
        "score": "additive",
        "deep_output": True,
    },
    "ConvS2S, 4+3 layers of 256": {
        "kind": "convs2s",
        "embedding": 256,
        "output_embedding": 256,
        "encoder_layers": [[256, 3]] * 4,
        "decoder_layers": [[256, 3]] * 3,
        "dropout": 0.2,
    },
    "GNMT, 3+3 layers of 256": {
        "kind": "gnmt",
        "encoder_layers": 3,
        "decoder_layers": 3,
        "hidden": 256,
        "initial_range": None,
        "dropout": 0.15,
    },
}
COMMON = (
    "text={kind: sentencepiece, size: 4000}",
    "training.threads=null",
    "training.batch_tokens=2000",
    "training.validate_every=100",
)


@dataclass(frozen=True)
class Row:
    """One architecture: seconds, and bytes, as planned and as they were."""

    name: str
    steps: int
    seconds: tuple[float, float]
    memory: tuple[int, int]


def compare(name: str, folder: Path, minutes: float) -> Row:
    """Plan and train one architecture."""
    changes = (*COMMON, f"model={json.dumps(MODELS[name])}")
    made = json.loads(
        dragoman("plan", "phrasebook-en-vi", "--json", *set_options(*changes, f"training.minutes={minutes}"))
    )
    steps = made["work"]["steps"]
    run = folder / str(len(list(folder.iterdir())))
    dragoman(
        "train",
        "phrasebook-en-vi",
        "--out",
        str(run),
        *set_options(*changes, "training.minutes=null", f"training.steps={steps}"),
    )
    cost = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["cost"]
    seconds, memory = (made["work"]["seconds"], cost["seconds"]), (made["estimated_memory"], cost["peak_memory"])
    return Row(name, steps, seconds, memory)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| model | steps | time planned | real | difference | memory planned | real | difference |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        planned, real = row.seconds
        expected, peak = row.memory
        yield (
            f"| {row.name} | {row.steps:,} | {planned:.1f} s | {real:.1f} s | {planned / real - 1:+.1%} | "
            f"{expected / 1e6:,.0f} MB | {peak / 1e6:,.0f} MB | {expected / peak - 1:+.1%} |"
        )


def main(minutes: float = 1.0) -> None:
    """Compare all architectures and print the table."""
    rows = []
    with TemporaryDirectory() as folder:
        for name in MODELS:
            rows.append(compare(name, Path(folder), minutes))
            print(*table(rows[-1:]), sep="\n", file=sys.stderr)
    print(*table(rows), sep="\n")
    print(f"\n{machine()}, commit `{commit()}`")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
