"""Models of documents learn what stands only in the sentences before, and read them wherever they are used."""

import json
import random
from functools import cache
from pathlib import Path

import pytest
from tests.tiny import dragoman, refusal

from dragoman.fitting import fit
from dragoman.recipe import Recipe
from dragoman.settings import merge, parse
from dragoman.training.reports import MetricsFile
from dragoman.translator import Translator

NOUNS = {"cat": "mèo", "dog": "chó", "sea": "biển", "boat": "thuyền", "tree": "cây", "book": "sách"}
"""What a document is about: named in its first sentence; later ones say `it`, which is translated by the noun."""

SMALL = {"encoder_layers": 1, "decoder_layers": 1, "width": 32, "feed_forward": 32, "heads": 2, "dropout": 0.0}
RECIPE = {
    "data": {"source": "en", "target": "vi"},
    "text": {"kind": "words", "minimum_count": 1, "joint": True},
    "model": {"kind": "document", "previous": 2, **SMALL},
    "training": {
        "steps": 150,
        "batch_tokens": 300,
        "learning_rate": 0.01,
        "warmup": 20,
        "validate_every": 50,
        "keep": 0,
        "precision": "float32",
        "threads": 1,
        "device": "cpu",
    },
    "decoding": {"beam": 2},
}


def documents(count: int, seed: int) -> list[list[tuple[str, str]]]:
    """Return documents in which `it` stands one or two sentences after its noun."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        english, vietnamese = rng.choice(list(NOUNS.items()))
        between = [("yes .", "vâng .")] * rng.randint(0, 1)
        made.append([(f"a {english} .", f"một {vietnamese} ."), *between, ("it sleeps .", f"{vietnamese} ngủ .")])
    return made


def write(folder: Path, name: str, texts: list[list[tuple[str, str]]]) -> tuple[Path, Path]:
    """Write documents with blank lines between them."""
    paths = (folder / f"{name}.en", folder / f"{name}.vi")
    for side, path in enumerate(paths):
        path.write_text("\n".join("".join(f"{pair[side]}\n" for pair in text) for text in texts), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training and a dev corpus."""
    folder = tmp_path_factory.mktemp("documents")
    write(folder, "train", documents(200, 1))
    write(folder, "dev", documents(30, 2))
    return folder


@pytest.fixture(scope="module")
def run_of(corpus: Path):
    """Return a function that trains a model of a kind, once, and gives its run."""

    @cache
    def train(kind: str) -> Path:
        fit(recipe(corpus, kind), corpus / kind)
        return corpus / kind

    return train


def recipe(corpus: Path, kind: str, **data: object) -> Recipe:
    """Return the recipe of one kind of model."""
    split = {"documents": "blank lines"}
    parts = {
        name: [{"source": str(corpus / f"{name}.en"), "target": str(corpus / f"{name}.vi"), **split}]
        for name in ("train", "dev")
    }
    model = {"kind": kind, **SMALL} | ({"previous": 2} if kind == "document" else {})
    return parse(Recipe, merge({**RECIPE, "model": model}, {"data": {**parts, **data}}))


def right(run: Path) -> float:
    """Return the share of dev documents whose `it` is translated by its noun."""
    translator, texts = Translator.load(run), documents(30, 2)
    lines = [line for text in texts for line in (*(source for source, _ in text), "")]
    found = iter(one.text for one in translator.translate(lines))
    return sum([next(found) for _ in (*text, None)][-2] == text[-1][1] for text in texts) / len(texts)


def test_the_words_before_are_learned_by_the_model_that_reads_them_alone(run_of):
    assert right(run_of("document")) == 1.0
    assert right(run_of("transformer")) < 0.5
    losses = {
        kind: [one["dev_loss"] for one in MetricsFile(run_of(kind) / "metrics.jsonl").read() if "dev_loss" in one][-1]
        for kind in ("document", "transformer")
    }
    assert losses["document"] < 0.1 < 0.15 < losses["transformer"]
