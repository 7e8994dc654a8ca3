"""The two pictures of hierarchical attention: `python -m benchmarks.atlas.documents` trains two small models and draws them.

Neither model translates single sentences, so they have no row in the atlas; each task is one that only the levels above
the sentence can solve. Two to three minutes on one core.
"""

import random
import sys
import tempfile
from pathlib import Path

import torch
from benchmarks.atlas.agreed import ROOT

from dragoman.classification.classifier import Classifier
from dragoman.classification.fitting import fit_classifier
from dragoman.classification.settings import classifier_recipe
from dragoman.data.phrasebook import derive
from dragoman.inference.context_attention import read_previous
from dragoman.inference.translator import Translator
from dragoman.inspection import draw
from dragoman.inspection.document_picture import draw_document
from dragoman.jobs.train import fit
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse

PICTURES = ROOT / "docs" / "atlas" / "pictures"

NOUNS = {"cat": "mèo", "dog": "chó", "bird": "chim", "fish": "cá", "horse": "ngựa", "girl": "cô bé", "boy": "cậu bé"}
"""A document names one of them; a later sentence says `it`, which is translated by the noun."""


def document(generator: random.Random) -> list[tuple[str, str]]:
    """Return a document whose last sentence says `it`, with up to one sentence between."""
    english, vietnamese = generator.choice(list(NOUNS.items()))
    between = [("the sun shines .", "mặt trời tỏa sáng .")] * generator.randint(0, 1)
    return [(f"I see a {english} .", f"tôi thấy một {vietnamese} ."), *between, ("it sleeps .", f"{vietnamese} ngủ .")]


def translation(folder: Path, picture: Path) -> None:
    """Train a model of documents, and draw where it looks for what `it` is."""
    generator = random.Random(1)
    texts = [document(generator) for _ in range(300)]
    for side, language in enumerate(("en", "vi")):
        whole = "\n".join("".join(f"{pair[side]}\n" for pair in text) for text in texts)
        (folder / f"text.{language}").write_text(whole, encoding="utf-8")
    corpus = {"source": "text.en", "target": "text.vi", "documents": "blank lines"}
    model = {"encoder_layers": 1, "decoder_layers": 1, "width": 32, "feed_forward": 64, "heads": 1, "dropout": 0.0}
    training = {"steps": 300, "batch_tokens": 300, "learning_rate": 0.005, "warmup": 30, "label_smoothing": 0.0}
    recipe = {
        "data": {"source": "en", "target": "vi", "root": str(folder), "train": [corpus], "dev": [corpus]},
        "text": {"kind": "words", "minimum_count": 1, "joint": True},
        "model": {"kind": "document", "previous": 2, **model},
        "training": {**training, "threads": 1, "device": "cpu", "precision": "float32", "metric": "loss", "keep": 0},
    }
    fit(parse(Recipe, recipe, where="the picture of documents"), folder / "run")
    translator = Translator.load(folder / "run", device="cpu")
    sentences = ["I see a horse .", "the sun shines .", "it sleeps ."]
    translated = translator.translate(sentences)[-1].text
    print(f"{' '.join(sentences)} → {translated}")
    reading = read_previous(translator.models[0], translator.source, sentences[-1], previous=sentences[:-1])
    draw(reading.picture_of_words(f"it sleeps .  →  {translated}"), picture)


def classification(folder: Path, picture: Path) -> None:
    """Train a classifier that says which of four sentences asks, and draw what it looks at."""
    generator = random.Random(1)
    kinds: dict[bool, list[str]] = {True: [], False: []}
    for example in derive("vi", "train", 2500, seed=1):
        kinds[example.source.endswith("?")].append(example.source)
    lines = []
    for _ in range(1000):
        place = generator.randrange(4)
        sentences = [generator.choice(kinds[number == place]) for number in range(4)]
        lines.append(f"{('first', 'second', 'third', 'fourth')[place]}\t{' '.join(sentences)}\n")
    table = folder / "labels.tsv"
    table.write_text("".join(lines[:-1]), encoding="utf-8")
    torch.manual_seed(1)
    fit_classifier(classifier_recipe(table), folder / "labels")
    label, text = lines[-1].strip().split("\t")
    found = Classifier.load(folder / "labels").explain(text)
    print(f"{label}: {found.title}")
    draw_document(found, picture)


def main() -> None:
    """Draw both."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, make in (("translation", translation), ("classification", classification)):
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), PICTURES / f"document-{name}.png")
    print(f"Wrote two pictures to {PICTURES}; `python -m benchmarks.atlas.pages` shows them.", file=sys.stderr)


if __name__ == "__main__":
    main()
