"""The document classifier compared with a bag of words and the most frequent label.

python benchmarks/classify.py                       two tasks made of the phrasebook
python benchmarks/classify.py TRAIN.tsv TEST.tsv    tables of one's own: a label, a tab and a text on each line
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import torch
from torch.nn.functional import cross_entropy

from dragoman.classification.classifier import Classifier
from dragoman.classification.fitting import fit_classifier
from dragoman.classification.settings import classifier_recipe
from dragoman.data.labelled import Labelled, read_labelled
from dragoman.data.phrasebook import Split, derive
from dragoman.text.codec import learn_codec
from dragoman.text.settings import WordsSettings


def bag_of_words(train: list[Labelled], test: list[Labelled]) -> float:
    """Return the accuracy of logistic regression on which words a document has, the best of four strengths on `test`.

    Choosing the strength on the test set favours the bag of words.
    """
    codec = learn_codec(WordsSettings(minimum_count=2), (one.text for one in train))
    labels = sorted({one.label for one in train})

    def counted(documents: list[Labelled]) -> tuple[torch.Tensor, torch.Tensor]:
        counts = torch.zeros(len(documents), len(codec))
        for row, one in zip(counts, documents, strict=True):
            row[codec.encode(one.text)] = 1.0
        return counts, torch.tensor([labels.index(one.label) for one in documents])

    (features, wanted), (unseen, gold) = counted(train), counted(test)
    found = []
    for strength in (1e-1, 1e-2, 1e-3, 1e-4):
        torch.manual_seed(1)
        model = torch.nn.Linear(len(codec), len(labels))
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")

        def loss(pull: float = strength, model: torch.nn.Linear = model) -> torch.Tensor:
            model.zero_grad()
            value = cross_entropy(model(features), wanted) + pull * model.weight.square().sum() / 2
            value.backward()
            return value

        optimizer.step(loss)
        found.append(float((model(unseen).argmax(1) == gold).float().mean()))
    return max(found)


def phrasebook(task: str, split: Split, count: int) -> Iterator[str]:
    """Make documents of four sentences. kind: does one ask, or deny, or neither? place: which one asks?"""
    random = Random(f"{task} {split}")
    kinds: dict[str, list[str]] = {"plain": [], "question": [], "negation": []}
    for example in derive("vi", split, 2500 if split == "train" else 1000):
        negated = "n't" in example.source or " not " in example.source
        kind = "question" if example.source.endswith("?") else "negation" if negated else "plain"
        kinds[kind].append(example.source)
    for _ in range(count):
        sentences = [random.choice(kinds["plain"]) for _ in range(4)]
        place = random.randrange(4)
        label = random.choice(list(kinds)) if task == "kind" else ["first", "second", "third", "fourth"][place]
        sentences[place] = random.choice(kinds[label if task == "kind" else "question"])
        yield f"{label}\t{' '.join(sentences)}\n"


def compare(name: str, train: Path, test: Path, folder: Path) -> None:
    """Print one line of scores."""
    begin = time.monotonic()
    fit_classifier(classifier_recipe(train), folder)
    seconds = time.monotonic() - begin
    documents = read_labelled(test)
    scores = Classifier.load(folder).evaluate(documents)
    words = bag_of_words(read_labelled(train), documents)
    print(
        f"{name}: {len(documents)} test documents, accuracy {scores.accuracy:.3f} (macro F1 {scores.macro_f1:.3f}), bag of "
        f"words {words:.3f}, most frequent label {scores.majority:.3f}; trained in {seconds:.0f} s"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if len(sys.argv) == 3:
            compare(sys.argv[1], Path(sys.argv[1]), Path(sys.argv[2]), targets=folder / "run")
        for task in ("kind", "place") if len(sys.argv) == 1 else ():
            for split, count in (("train", 1000), ("test", 500)):
                (folder / f"{task}.{split}.tsv").write_text("".join(phrasebook(task, split, count)), encoding="utf-8")  # type: ignore[arg-type]
            compare(task, folder / f"{task}.train.tsv", folder / f"{task}.test.tsv", targets=folder / task)
