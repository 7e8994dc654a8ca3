"""Classify documents with a trained run, and show which words and sentences were attended to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.classification.run import ClassifierRun, open_classifier_run
from dragoman.data.collate import pad
from dragoman.data.labelled import Labelled, check_known, encode_document
from dragoman.errors import InputError, RunError
from dragoman.inference.attention_map import with_words
from dragoman.inference.batching import batches
from dragoman.inference.session import Session
from dragoman.inspection.document_picture import DocumentPicture
from dragoman.interfaces import Padded
from dragoman.machine.devices import choose_device
from dragoman.machine.torch_state import undisturbed
from dragoman.metrics.classification import Confusion, confusion
from dragoman.models.classifier import Classified, DocumentClassifier
from dragoman.text.given import given_texts
from dragoman.text.sentences import split_sentences

BATCH_CELLS = 1 << 15
"""Maximum tokens in a batch, padding included."""


@dataclass(frozen=True)
class Classification:
    """The label of a document, and the probability of every label."""

    label: str
    probabilities: dict[str, float]

    @property
    def probability(self) -> float:
        """Return the probability of the label."""
        return self.probabilities[self.label]


class Classifier:
    """A trained document classifier, ready to use."""

    def __init__(self, run: ClassifierRun, model: DocumentClassifier) -> None:
        self.run = run
        self.session = Session([model], fixed=True)
        self.model = model
        self.labels = run.labels

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> "Classifier":
        """Open a run. Raises RunError if there is none, or if it is not a classifier's."""
        run = open_classifier_run(Path(folder))
        return cls(run, run.load_model(choose_device(device)))

    @torch.inference_mode()
    @undisturbed()
    def classify(self, texts: Iterable[str]) -> list[Classification]:
        """Return the most probable label of each document, in order. Raises InputError if one has no words."""
        documents = [self._encode(text, number) for number, text in enumerate(given_texts(texts, "document"), 1)]
        found: dict[int, Classification] = {}
        for rows in batches([len(document) + 1 for document in documents], BATCH_CELLS):
            logits = self._read([documents[at] for at in rows]).logits.float()
            if not logits.isfinite().all():
                raise RunError(f"the model in {self.run.folder} produces NaN probabilities; train again")
            for at, row in zip(rows, logits.softmax(-1).tolist(), strict=True):
                probabilities = dict(zip(self.labels, row, strict=True))
                found[at] = Classification(max(probabilities, key=probabilities.__getitem__), probabilities)
        return [found[at] for at in range(len(documents))]

    def evaluate(self, documents: Sequence[Labelled]) -> Confusion:
        """Compare predicted with true labels. Raises CorpusError for a label that training never saw."""
        check_known(documents, self.labels)
        predicted = [found.label for found in self.classify([one.text for one in documents])]
        return confusion(self.labels, [one.label for one in documents], predicted)

    @torch.inference_mode()
    @undisturbed()
    def explain(self, text: str) -> DocumentPicture:
        """Return a picture of the attention: the weight of each sentence, and of each word in its sentence.

        A word's weight is the sum of the weights of its tokens.
        """
        (classification,) = self.classify([text])
        output = self._read([encode_document(self.run.codec, text)])
        sentences, weights = [], []
        for sentence, row in zip(split_sentences(text), output.words.tolist(), strict=True):
            side = with_words(self.run.codec, sentence, self.run.codec.words(sentence))
            received = [0.0] * len(side.words)
            for owner, weight in zip(side.owners, row, strict=False):
                if owner is not None:
                    received[owner] += weight
            sentences.append(side.words)
            weights.append(received)
        best = sorted(classification.probabilities.items(), key=lambda pair: -pair[1])
        return DocumentPicture(sentences, weights, output.sentences[0].tolist(), best)

    def _encode(self, text: str, number: int) -> list[int]:
        """Return the ids of one document."""
        try:
            return encode_document(self.run.codec, text)
        except InputError:
            raise InputError(f"document {number} is empty; give at least one word") from None

    def _read(self, documents: Sequence[list[int]]) -> Classified:
        """Run documents through the model."""
        source, device = pad(documents), self.session.device
        output: Classified = self.model(Padded(source.ids.to(device), source.mask.to(device)))
        return output
