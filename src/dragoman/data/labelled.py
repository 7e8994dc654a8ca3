"""Documents with labels: read from a table, split into sentences, tokenised, and put in batches."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from dragoman.data.buckets import Members, batches
from dragoman.data.collate import Ids, pad
from dragoman.data.lines import read_rows
from dragoman.errors import CorpusError, InputError, RunError, shorten
from dragoman.interfaces import BOS, EOS, Batch, Padded
from dragoman.text.codec import Codec
from dragoman.text.frames import shortened
from dragoman.text.normalize import normalize
from dragoman.text.sentences import split_sentences


class Labelled(NamedTuple):
    """A document, its label, and where it is: "reviews.tsv, line 7"."""

    label: str
    text: str
    place: str


def read_labelled(path: Path) -> list[Labelled]:
    """Read a table of a label, a tab and a text on each line; further tabs are white space of the text.

    CorpusError names file and line where there is no tab, no label or no text.
    """
    found = []
    for number, line in read_rows(path):
        place = f"{path}, line {number}"
        label, _, text = (normalize(part) for part in line.partition("\t"))
        if "\t" not in line:
            raise CorpusError(f"{place} has no tab; each line must hold a label, a tab and a text")
        if not label:
            raise CorpusError(f"{place} has no label before its tab; give one, or remove the line")
        if not split_sentences(text):
            raise CorpusError(f"{place} has no text after its label `{shorten(label)}`; give one, or remove the line")
        found.append(Labelled(label, text, place))
    if not found:
        raise CorpusError(f"{path} is empty; give lines of a label, a tab and a text")
    return found


def labels_of(documents: Sequence[Labelled], path: Path) -> tuple[str, ...]:
    """Return the labels that occur, in order. Raises CorpusError if there is only one: nothing could be learned."""
    labels = tuple(sorted({document.label for document in documents}))
    if len(labels) < 2:
        raise CorpusError(f"{path} has only one label, `{shorten(labels[0])}`; a classifier needs at least two")
    return labels


def check_known(documents: Sequence[Labelled], labels: Sequence[str]) -> None:
    """Refuse documents with a label that training never saw."""
    for document in documents:
        if document.label not in labels:
            known = shortened([shorten(label) for label in labels])
            raise CorpusError(
                f"{document.place} has the label `{shorten(document.label)}`, which training never saw; known: {known}"
            )


def encode_document(codec: Codec, text: str) -> list[int]:
    """Return the ids of a document, EOS between its sentences. Raises InputError if it has no word.

    >>> from dragoman.text.settings import CharactersSettings
    >>> from dragoman.text.words import learn_characters
    >>> encode_document(Codec(learn_characters(["Ab."], CharactersSettings())), "A. b. A.")
    [5, 4, 3, 6, 4, 2, 5, 4]
    """
    sentences = split_sentences(text)
    if not sentences:
        raise InputError("the document is empty; give at least one word")
    ids = [index for sentence in sentences for index in (EOS, *codec.encode(sentence))]
    return ids[1:]


def collate_documents(documents: Sequence[Ids], labels: Sequence[int]) -> Batch:
    """Make a batch of documents: sources of several sentences, EOS after each; a target is BOS and the number of a label.

    >>> batch = collate_documents([[7, 2, 8], [7]], [1, 0])
    >>> batch.source.ids.tolist(), batch.labels.tolist()
    ([[7, 2, 8, 2], [7, 2, 0, 0]], [[1], [0]])
    """
    target = torch.tensor([[BOS, label] for label in labels])
    return Batch(pad(documents), Padded(target, torch.ones_like(target, dtype=torch.bool)))


class DocumentStream(Iterator[Batch]):
    """Batches of at most `tokens` tokens, padding included; each document once in an epoch, without end.

    A function of documents, `tokens` and `seed`: a stream moved to the `position` of another continues identically. A
    document of more than `tokens` tokens makes a batch of its own.
    """

    def __init__(self, documents: Sequence[Ids], labels: Sequence[int], tokens: int, *, seed: int) -> None:
        self.documents = documents
        self.labels = labels
        self.tokens = tokens
        self.seed = seed
        self._lengths = np.array([len(document) + 1 for document in documents], np.int32)
        self._enter(0)

    def __next__(self) -> Batch:
        chosen = self._plan[self._index].tolist()
        self._index += 1
        if self._index == len(self._plan):
            self._enter(self._epoch + 1)
        return collate_documents([self.documents[at] for at in chosen], [self.labels[at] for at in chosen])

    @property
    def position(self) -> dict[str, int]:
        """Where the next batch is: its epoch, and its index in the epoch."""
        return {"epoch": self._epoch, "index": self._index}

    @property
    def epochs_done(self) -> float:
        """Passes over the documents so far."""
        return self._epoch + sum(len(members) for members in self._plan[: self._index]) / len(self.documents)

    def seek(self, position: Mapping[str, Any]) -> None:
        """Move to a position from a stream over the same documents. Raises RunError if there is no such position."""
        epoch, index = int(position["epoch"]), int(position["index"])
        if epoch >= 0:
            self._enter(epoch)
        if epoch < 0 or not 0 <= index < len(self._plan):
            raise RunError(
                f"the saved position (epoch {epoch}, batch {index}) does not exist: the documents or the batch size have "
                "changed since training started; start a new run"
            )
        self._index = index

    def close(self) -> None:
        """Do nothing: no batch is made in the background."""

    def _enter(self, epoch: int) -> None:
        """Plan the batches of one epoch."""
        rng = np.random.default_rng((self.seed, epoch))
        indices = np.arange(len(self.documents))
        self._plan: list[Members] = batches(indices, self._lengths, self._lengths, tokens=self.tokens, rng=rng)
        self._epoch, self._index = epoch, 0
