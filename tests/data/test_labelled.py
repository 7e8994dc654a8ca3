"""Labelled documents are read with their mistakes named, and every one stands once in an epoch."""

import gzip
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.data.labelled import (
    DocumentStream,
    check_known,
    collate_documents,
    encode_document,
    labels_of,
    read_labelled,
)
from dragoman.errors import CorpusError, InputError, RunError
from dragoman.interfaces import EOS
from dragoman.text.codec import learn_codec
from dragoman.text.settings import WordsSettings


def table(folder: Path, text: str) -> Path:
    """Write a table."""
    path = folder / "labels.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def stream(tokens: int = 40, seed: int = 1) -> DocumentStream:
    """Return a stream over twenty documents of different lengths, each known by its first id."""
    documents = [[10 + at] * (1 + at % 7) for at in range(20)]
    return DocumentStream(documents, list(range(20)), tokens, seed=seed)


def test_a_line_is_a_label_a_tab_and_a_text(tmp_path: Path):
    path = table(tmp_path, "\ufeffgood \tIt  is fine.\twell\nbad\tNo.\r\n")
    assert [tuple(one) for one in read_labelled(path)] == [
        ("good", "It is fine. well", f"{path}, line 1"),
        ("bad", "No.", f"{path}, line 2"),
    ]


def test_a_table_may_be_compressed(tmp_path: Path):
    path = tmp_path / "labels.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tx\n"))
    assert read_labelled(path)[0].label == "a"


def test_empty_lines_may_end_a_table(tmp_path: Path):
    path = tmp_path / "labels.tsv"
    path.write_bytes(b"a\tx\n\r\n\n")
    assert [one.text for one in read_labelled(path)] == ["x"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a\tx\nb y\n", ", line 2 has no tab; each line must hold a label, a tab and a text"),
        ("a\tx\n\nb\ty\n", ", line 2 has no tab"),
        ("a\tx\n \ty\n", ", line 2 has no label before its tab"),
        ("a\tx\nb\t \u200b\n", ", line 2 has no text after its label `b`"),
        ("a\tx\nb\t<eos>\\n\n", ", line 2 has no text after its label `b`"),
        ("", " is empty; give lines of a label, a tab and a text"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path: Path, text, sentence):
    path = table(tmp_path, text)
    with pytest.raises(CorpusError) as refused:
        read_labelled(path)
    assert str(refused.value).startswith(f"{path}{sentence}")


def test_one_label_alone_is_refused(tmp_path: Path):
    path = table(tmp_path, "a\tx\na\ty\n")
    with pytest.raises(CorpusError, match="has only one label, `a`"):
        labels_of(read_labelled(path), path)


def test_a_label_unseen_in_training_is_named_with_its_line_and_the_known_ones(tmp_path: Path):
    documents = read_labelled(table(tmp_path, "a\tx\nc\ty\n"))
    with pytest.raises(CorpusError, match=r"line 2 has the label `c`, which training never saw; known: a, b$"):
        check_known(documents, ["a", "b"])


def test_labels_that_are_whole_texts_are_shortened(tmp_path: Path):
    long = "word " * 1000
    with pytest.raises(CorpusError, match=r"has no text after its label `word word .*") as without_text:
        read_labelled(table(tmp_path, f"{long}\t \n"))
    one = table(tmp_path, f"{long}\tx\n")
    with pytest.raises(CorpusError, match=r"has only one label, `word word .*") as alone:
        labels_of(read_labelled(one), one)
    with pytest.raises(CorpusError, match=r"known: word .* and 988 others") as unseen:
        check_known(read_labelled(one), [f"{long}{number}" for number in range(1000)])
    assert all(len(str(found.value)) < 1500 for found in (without_text, alone, unseen))


def test_a_document_is_its_sentences_with_an_end_between_them():
    codec = learn_codec(WordsSettings(minimum_count=1), ["one two ."])
    one, two, point = codec.encode("one two .")
    assert encode_document(codec, "one . two .") == [one, point, two, point]
    assert encode_document(codec, "one . Two") == [one, point, EOS, 3]
    with pytest.raises(InputError, match="the document is empty"):
        encode_document(codec, " <eos> ")


def test_a_batch_holds_documents_and_one_label_each():
    batch = collate_documents([[7, EOS, 8], [9]], [0, 3])
    assert batch.labels.tolist() == [[0], [3]]
    assert batch.real.all() and int(batch.real.sum()) == 2
    assert batch.source.ids.tolist() == [[7, 2, 8, 2], [9, 2, 0, 0]]


def test_each_document_stands_once_in_an_epoch_with_its_label():
    batches = stream()
    seen: list[int] = []
    while batches.epochs_done < 1:
        batch = next(batches)
        assert batch.source.ids.numel() <= 40
        assert (batch.source.ids[:, 0] - 10).tolist() == batch.labels[:, 0].tolist()
        seen += batch.labels[:, 0].tolist()
    assert sorted(seen) == list(range(20))


def test_epochs_and_seeds_deal_the_documents_anew():
    def firsts(batches: DocumentStream) -> list[int]:
        return [int(label) for batch in islice(batches, 3) for label in batch.labels[:, 0]]

    assert firsts(stream()) == firsts(stream())
    assert firsts(stream()) != firsts(stream(seed=2))
    second = stream()
    second.seek({"epoch": 1, "index": 0})
    assert firsts(second) != firsts(stream())


def test_a_stream_sent_to_the_position_of_another_goes_on_as_it_does():
    first = stream()
    for _ in range(9):
        next(first)
    second = stream()
    second.seek(first.position)
    assert second.epochs_done == first.epochs_done
    for left, right in islice(zip(first, second, strict=True), 9):
        assert torch.equal(left.source.ids, right.source.ids) and torch.equal(left.labels, right.labels)


@pytest.mark.parametrize("position", [{"epoch": -1, "index": 0}, {"epoch": 0, "index": 99}, {"epoch": 0, "index": -1}])
def test_a_position_that_does_not_exist_is_refused(position):
    with pytest.raises(RunError, match=r"the saved position .* does not exist"):
        stream().seek(position)


def test_a_document_larger_than_a_batch_makes_one_of_its_own():
    documents = [np.arange(5, 60), [5], [6]]
    batches = DocumentStream(documents, [0, 1, 2], 10, seed=1)
    sizes = []
    while batches.epochs_done < 1:
        sizes.append(len(next(batches).labels))
    assert sorted(sizes) == [1, 2]
