"""Compiled training in a process of its own, `python -m tests.training.compiled WHAT`: checked types are no food for a compiler.

Prints one JSON table: what was said, and the numbers of a plain and of a compiled training.
"""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tests.tiny import recipe
from torch.optim import SGD

from dragoman.jobs import train as fitting
from dragoman.laws.examples import batch
from dragoman.models.build import build_model
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.training.compiling import Compiled
from dragoman.training.flops import counting
from dragoman.training.objectives import build_objective
from dragoman.training.reports import Silent
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step

TRANSFORMER = TransformerSettings(width=8, feed_forward=8, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.1)
RECURRENT = RecurrentSettings(embedding=8, hidden=8, dropout=0.0)
SETTINGS = TrainingSettings(steps=1)
BATCHES = [batch([5, 3, 4], [6, 3, 2], 1), batch([7, 3], [4, 3], 2), batch([2, 3, 6, 4], [3, 5, 3, 2], 3)]


class Hearing(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        """Keep it."""
        self.said.append(text)


def compared(settings: Any, **options: Any) -> dict[str, Any]:
    """Train a plain and a compiled model for a step on each batch, and the compiled one for a counted step before."""
    found: dict[str, Any] = {"said": [], "numbers": []}
    for how in ("plain", "compiled"):
        torch.manual_seed(1)
        model = build_model(settings, Vocabularies(19, 19, shared=True)).train()
        compiled = Compiled(model, say=found["said"].append, **options)
        objectives = build_objective if how == "plain" else compiled.around(build_objective)
        take = partial(train_step, model, objectives(SETTINGS), SGD(model.parameters(), lr=0.05), clip=1.0)
        torch.manual_seed(2)
        with counting():
            take(batches=BATCHES[:1], compute=Compute())
        found["programs after counting"] = programs()
        results = [take(batches=[one], compute=Compute()) for one in BATCHES]
        found["numbers"].append([number for one in results for number in (one.total, one.plain, one.norm)])
        found["names"] = [name for name in (*model.state_dict(), *vars(model)) if "_orig" in name or name == "forward"]
    found["programs"] = programs()
    return found


def programs() -> int:
    """Return how many programs were made so far."""
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def broken(*_: Any, **__: Any) -> None:
    """A compiler that breaks."""
    raise ValueError("no compiler today\nand none tomorrow")


def resumed() -> dict[str, Any]:
    """Train plainly, go on compiled, go on plainly; and all of it plainly."""
    listener, losses = Hearing(), []
    fitting.Compiled = partial(Compiled, backend="aot_eager")  # type: ignore[misc,assignment]
    with TemporaryDirectory() as place:
        for name, parts in {"unbroken": [(9, "none")], "mixed": [(3, "none"), (6, "model"), (9, "none")]}.items():
            for number, (steps, way) in enumerate(parts):
                settings = recipe(
                    "transformer", f"training.steps={steps}", f"training.compile={way}", "training.log_every=1"
                )
                fitting.fit(settings, Path(place) / name, resume=number > 0, listener=listener)
            lines = (Path(place) / name / "metrics.jsonl").read_text().splitlines()
            losses.append([record["loss"] for record in map(json.loads, lines) if "loss" in record])
    return {"numbers": losses, "said": listener.said, "programs": programs()}


SCENES: Mapping[str, Callable[[], dict[str, Any]]] = {
    "transformer": lambda: compared(TRANSFORMER, way="model", backend="aot_eager"),
    "inductor": lambda: compared(TRANSFORMER, way="model"),
    "loop": lambda: compared(RECURRENT, way="graphs", backend="aot_eager"),
    "storm": lambda: compared(RECURRENT, way="graphs", backend="aot_eager", most=1),
    "without a GPU": lambda: compared(RECURRENT, way="graphs", most=2),
    "broken": lambda: compared(TRANSFORMER, way="model", backend=broken),
    "resumed": resumed,
}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(SCENES[sys.argv[1]]()))
