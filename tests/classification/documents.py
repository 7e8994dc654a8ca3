"""Labelled documents made of the phrasebook: a label says whether a document holds a question, a negation, or neither."""

from functools import cache
from pathlib import Path
from random import Random

from dragoman.classification.settings import ClassifierRecipe, classifier_recipe
from dragoman.data.phrasebook import derive

SMALL = (
    "model.embedding=16",
    "model.hidden=8",
    "model.attention=8",
    "training.batch_tokens=500",
    "training.learning_rate=0.02",
    "training.epochs=14",
    "training.validate_every=1000",
    "training.threads=1",
    "training.device=cpu",
)


def documents(count: int, seed: int = 1) -> list[str]:
    """Return lines of a label, a tab and two or three sentences."""
    random, kinds = Random(seed), sentences()
    lines = []
    for at in range(count):
        label = ("plain", "question", "negation")[at % 3]
        chosen = [random.choice(kinds["plain"]) for _ in range(random.randint(1, 2))]
        chosen.insert(random.randrange(len(chosen) + 1), random.choice(kinds[label]))
        lines.append(f"{label}\t{' '.join(chosen)}")
    return lines


@cache
def sentences() -> dict[str, list[str]]:
    """Return sentences of the phrasebook by what they are."""
    found: dict[str, list[str]] = {"plain": [], "question": [], "negation": []}
    for example in derive("vi", "train", 150):
        negated = "n't" in example.source or " not " in example.source
        kind = "question" if example.source.endswith("?") else "negation" if negated else "plain"
        found[kind].append(example.source)
    return found


def write(path: Path, lines: list[str]) -> Path:
    """Write a table."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def small_recipe(folder: Path, *assignments: str) -> ClassifierRecipe:
    """Return the recipe of a classifier that is trained in seconds, and write what it trains on."""
    train, dev = write(folder / "train.tsv", documents(90)), write(folder / "dev.tsv", documents(30, seed=2))
    return classifier_recipe(train, dev, (*SMALL, *assignments))
