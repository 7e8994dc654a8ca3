"""The first translator of the book "Dive into Deep Learning": its loss, and its sentences by heart (docs/exercises.md)."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from tests.laws.architectures import ARCHITECTURES
from torch import Tensor

from dragoman.data.collate import collate
from dragoman.data.corpus import read_pairs
from dragoman.inference.translator import Translator
from dragoman.jobs.train import fit
from dragoman.laws.examples import fresh_model
from dragoman.runs.recipe import Recipe, load_recipe
from dragoman.training.objectives import translation_loss
from dragoman.training.reports import MetricsFile

STEPS = 10
"""The book cuts or pads every sentence to so many tokens."""
TATOEBA = Path("../shared/data/tatoeba-en-fr")


def loss_of_the_book(logits: Tensor, labels: Tensor, real: Tensor) -> float:
    """Return what the book prints: the mean over the steps of each sentence, padding counted, added up over sentences,
    divided by the real tokens."""
    total = 0.0
    for row, (expected, known) in enumerate(zip(labels, real, strict=True)):
        losses = [float(F.cross_entropy(logits[row, t], expected[t])) for t in range(len(expected)) if known[t]]
        total += sum(losses) / STEPS
    return total / int(real.sum())


def test_the_loss_of_the_book_is_a_tenth_of_the_loss_per_token() -> None:
    batch = collate([([5, 6, 7], [6, 5]), ([5], [7, 7, 6, 5])])
    model = fresh_model(ARCHITECTURES["bahdanau gru additive"]).eval()
    with torch.no_grad():
        ours = translation_loss(model, batch)
        book = loss_of_the_book(model(batch.source, batch.inputs).logits, batch.labels, batch.real)
    assert book == pytest.approx(float(ours.total) / ours.tokens / STEPS)


def test_the_recipe_is_the_one_of_the_book() -> None:
    recipe = load_recipe("d2l-bahdanau")
    training = recipe.training
    book = {"embedding": 32, "hidden": 32, "layers": 2, "cell": "gru", "score": "additive"}
    assert book.items() <= recipe.model.model_dump(mode="json").items()
    assert (training.epochs, training.learning_rate, training.label_smoothing) == (250, 0.005, 0)
    for name in ("d2l-bahdanau", "d2l-bahdanau-tatoeba"):
        assert len(load_recipe(name).data.train) == 1
    assert len(list(read_pairs(recipe.data.train[0], recipe.data))) == 600


def learn(recipe: Recipe, folder: Path) -> tuple[Translator, float, float]:
    """Train; return the translator, the loss per token in training (dropout on) and the one after it (dropout off)."""
    fit(recipe, folder)
    records = MetricsFile(folder / "metrics.jsonl").read()
    training = [float(record["loss"]) for record in records if "loss" in record]
    after = [float(record["dev_loss"]) for record in records if "dev_loss" in record]
    return Translator.load(folder), training[-1], after[-1]


@pytest.mark.slow
def test_the_pairs_of_the_phrasebook_are_learned_by_heart(tmp_path: Path) -> None:
    translator, training, after = learn(load_recipe("d2l-bahdanau"), tmp_path / "run")
    assert training / STEPS < 0.05
    assert after < 0.1
    texts = [one.text for one in translator.translate(["Lions eat fish.", "I thank Paul.", "That is a bear."])]
    assert texts == ["les lions mangent du poisson.", "je remercie paul.", "c'est un ours."]


@pytest.mark.slow
@pytest.mark.skipif(not TATOEBA.exists(), reason="needs Tatoeba's English-French pairs")
def test_the_three_sentences_of_the_book_come_out_perfect(tmp_path: Path) -> None:
    recipe = load_recipe("d2l-bahdanau-tatoeba", [f"data.root={TATOEBA}"])
    translator, training, after = learn(recipe, tmp_path / "run")
    assert training / STEPS == pytest.approx(0.02, abs=0.004)
    assert after / STEPS < 0.02
    texts = [one.text for one in translator.translate(["Go.", "I lost.", "I'm home."])]
    assert texts == ["va !", "j'ai perdu.", "je suis chez moi."]
