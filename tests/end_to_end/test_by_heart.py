"""Every system of the shipped comparison can learn: 200 pairs by heart, at the size and with the optimiser it has there."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.arena.plan import make_plan
from dragoman.arena.settings import load_arena
from dragoman.jobs.train import fit
from dragoman.runs.recipe import Recipe
from dragoman.settings import merge, parse
from dragoman.training.reports import MetricsFile

SYSTEMS = [name for name, system in load_arena("arena-multi30k").systems.items() if not system.ensemble]
STEPS = 300
PAIRS = [{"phrasebook": "train", "pairs": 200}]


def by_heart(recipe: dict[str, Any]) -> Recipe:
    """The recipe of a system with 200 pairs to train on and to measure on."""
    recipe = {**recipe, "data": {"source": "en", "target": "vi", "train": PAIRS, "dev": PAIRS}}
    training = {name: value for name, value in recipe["training"].items() if name not in ("minutes", "phases")}
    training["warmup"] = min(training["warmup"], STEPS // 4)
    short = {"steps": STEPS, "label_smoothing": 0.0, "validate_every": STEPS, "average": 0, "keep": 0, "log_every": 10}
    text = {"size": 600} if recipe["text"]["kind"] == "sentencepiece" else {}
    return parse(Recipe, merge({**recipe, "training": training | short}, {"text": text}))


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_learns_two_hundred_pairs_by_heart(name: str, tmp_path: Path) -> None:
    recipe = make_plan(load_arena("arena-multi30k")).recipes[name]
    fit(by_heart(dict(recipe)), tmp_path / "run")
    last = MetricsFile(tmp_path / "run" / "metrics.jsonl").read()[-1]
    assert last["dev_loss"] < 0.1, f"{name} has a loss of {last['dev_loss']} on the pairs it was trained on"
