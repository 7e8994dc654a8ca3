"""Training a classifier: it learns, resumes bit for bit, and refuses what does not fit before writing anything."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.classification.documents import documents, small_recipe, write

from dragoman.classification.fitting import LabelValidation, classification_loss, fit_classifier, read_documents
from dragoman.classification.settings import classifier_recipe
from dragoman.data.labelled import collate_documents
from dragoman.errors import DragomanError
from dragoman.interfaces import EOS
from dragoman.models.classifier import ClassifierSettings, DocumentClassifier
from dragoman.settings import parse
from dragoman.training.checkpoint import load_tensors
from dragoman.training.reports import MetricsFile, Silent


def weights(run: Path) -> dict[str, bytes]:
    """Return all that training leaves, bit for bit, but for the seconds."""
    found = {}
    for path in sorted(run.rglob("*.safetensors")):
        tensors, _ = load_tensors(path)
        found |= {f"{path.name} {name}": tensor.numpy().tobytes() for name, tensor in tensors.items()}
    return found


class Stopping(Silent):
    """Asks training to stop, as Ctrl-C does, after the third step."""

    def progress(self, record: Any) -> None:
        """Send the signal that a terminal sends."""
        import signal

        if record["step"] == 3:
            signal.raise_signal(signal.SIGINT)


def test_a_classifier_learns_to_tell_questions_and_negations_apart(classifier_run: Path):
    records = [record for record in MetricsFile(classifier_run / "metrics.jsonl").read() if "dev_loss" in record]
    assert records[-1]["dev_accuracy"] >= 0.9
    assert records[-1]["dev_loss"] < 0.5


def test_training_leaves_the_random_numbers_of_the_caller_alone(tmp_path: Path):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    fit_classifier(small_recipe(tmp_path, "training.steps=2"), tmp_path / "run")
    assert torch.equal(torch.rand(2), expected)


def test_a_stopped_and_resumed_run_is_the_unbroken_one_bit_for_bit(tmp_path: Path):
    recipe = small_recipe(tmp_path, "training.steps=8", "training.validate_every=4", "training.save_minutes=100")
    stopped = fit_classifier(recipe, tmp_path / "broken", listener=Stopping())
    assert (stopped.step, stopped.finished) == (3, False)
    assert fit_classifier(recipe, tmp_path / "broken", resume=True).finished
    assert fit_classifier(recipe, tmp_path / "whole").finished
    assert weights(tmp_path / "broken") == weights(tmp_path / "whole")
    steps = [
        [record["step"] for record in MetricsFile(tmp_path / run / "metrics.jsonl").read()]
        for run in ("broken", "whole")
    ]
    assert steps[0] == steps[1]
    (tmp_path / "whole" / "training" / "last.safetensors").unlink()
    with pytest.raises(DragomanError, match=r"last.safetensors is missing"):
        fit_classifier(recipe, tmp_path / "whole", resume=True)


def test_the_loss_is_summed_over_documents():
    torch.manual_seed(1)
    settings = parse(ClassifierSettings, {"embedding": 4, "hidden": 3, "attention": 3})
    model = DocumentClassifier(settings, 9, 2).eval()
    texts = [[5, 6, EOS, 7], [8], [5, 5]]
    together = classification_loss(model, collate_documents(texts, [0, 1, 1]))
    alone = [
        classification_loss(model, collate_documents([text], [label]))
        for text, label in zip(texts, [0, 1, 1], strict=True)
    ]
    assert (together.tokens, [one.tokens for one in alone]) == (3, [1, 1, 1])
    torch.testing.assert_close(together.total, torch.stack([one.total for one in alone]).sum())


def test_without_dev_documents_one_in_ten_is_held_out(tmp_path: Path):
    path = write(tmp_path / "a.tsv", documents(300))
    train, dev = read_documents(classifier_recipe(path))
    assert 15 <= len(dev) <= 50 and len(train) + len(dev) == 300
    assert not {one.text for one in train} & {one.text for one in dev}


@pytest.mark.parametrize(
    ("train", "dev", "sentence"),
    [
        (["a\tx y", "a\ty"], None, "train.tsv has only one label, `a`"),
        (["a\tx y", "b\ty"], None, "train.tsv has too few documents (2) to hold some out"),
        (["a\tx", "b\tx"], ["c\tx"], "dev.tsv, line 1 has the label `c`, which training never saw; known: a, b"),
        (["a\tx", "b x"], ["a\tx"], "train.tsv, line 2 has no tab"),
        (["a\tx", "b\tx"], ["a\t"], "dev.tsv, line 1 has no text after its label `a`"),
        (["a\tx", "b\ty"], ["a\tx"], "no token of the text occurs 2 times"),
    ],
)
def test_documents_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path: Path, train, dev, sentence):
    path = write(tmp_path / "train.tsv", train)
    other = None if dev is None else write(tmp_path / "dev.tsv", dev)
    with pytest.raises(DragomanError) as refused:
        fit_classifier(classifier_recipe(path, other), tmp_path / "run")
    assert sentence in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_a_run_is_neither_overwritten_nor_resumed_with_something_else(tmp_path: Path):
    recipe = small_recipe(tmp_path, "training.steps=1")
    fit_classifier(recipe, tmp_path / "run")
    with pytest.raises(DragomanError, match="already holds a run; add --resume"):
        fit_classifier(recipe, tmp_path / "run")
    other = small_recipe(tmp_path, "training.steps=2", "model.hidden=9")
    with pytest.raises(DragomanError, match=r"was trained with another recipe: `model\.hidden` differs"):
        fit_classifier(other, tmp_path / "run", resume=True)
    write(tmp_path / "dev.tsv", documents(33))
    with pytest.raises(DragomanError, match=r"dev\.tsv has changed since"):
        fit_classifier(recipe, tmp_path / "run", resume=True)


def test_the_best_weights_are_chosen_by_every_label_of_a_sorted_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    validated, said = [], []

    def validate(self: LabelValidation, model: DocumentClassifier) -> dict[str, float]:
        validated.append(sorted(int(label) for batch in self.batches for label in batch.labels))
        return {"dev_loss": 1.0}

    monkeypatch.setattr(LabelValidation, "__call__", validate)
    monkeypatch.setattr(Silent, "say", lambda self, text: said.append(text))
    recipe = small_recipe(tmp_path, "training.steps=1", "training.validate_every=1", "training.validate_sentences=6")
    write(tmp_path / "dev.tsv", sorted(documents(30, seed=2)))
    fit_classifier(recipe, tmp_path / "run")
    assert validated == [[0, 0, 1, 1, 2, 2]]
    assert "6 for choosing the best weights" in said[0]
