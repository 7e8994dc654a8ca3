"""Laws of the document classifier: padding is nothing, weights are distributions, order of sentences counts, that of rows not."""

from typing import Any

import pytest
import torch

from dragoman.data.labelled import collate_documents
from dragoman.interfaces import EOS, Padded
from dragoman.layers.dropout import Dropout
from dragoman.models.classifier import Classified, ClassifierSettings, DocumentClassifier, cut_at_ends, in_rows
from dragoman.settings import parse

VOCABULARY, LABELS = 13, 3
DOCUMENTS = [[7, 8, 9, EOS, 5, 6], [4], [12, 11, EOS, 10, EOS, 9, 8, 7, 6], [5, 5, EOS, 5]]
KINDS: dict[str, dict[str, Any]] = {
    "as in the paper": {},
    "lstm, two layers": {"cell": "lstm", "layers": 2},
    **{score: {"score": score} for score in ("dot", "scaled_dot", "general", "scaled_general", "concat", "cosine")},
    "sparsemax": {"weights": "sparsemax"},
    "entmax15": {"weights": "entmax15"},
}


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> DocumentClassifier:
    """A small model with large weights, so that what leaks shows."""
    settings = parse(ClassifierSettings, {"embedding": 6, "hidden": 4, "attention": 5, **KINDS[request.param]})
    torch.manual_seed(3)
    made = DocumentClassifier(settings, VOCABULARY, LABELS).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() > 0:
                parameter.copy_(0.8 * torch.randn(parameter.shape))
    return made


def read(model: DocumentClassifier, documents: list[list[int]]) -> Classified:
    """Run documents through a model."""
    with torch.no_grad():
        return model(collate_documents(documents, [0] * len(documents)).source)


def test_padding_does_not_matter_whatever_stands_there(model: DocumentClassifier):
    whole = read(model, DOCUMENTS)
    for row, document in enumerate(DOCUMENTS):
        alone = read(model, [document])
        torch.testing.assert_close(alone.logits[0], whole.logits[row])
        torch.testing.assert_close(alone.sentences[0], whole.sentences[row, : alone.sentences.shape[1]])
    source = collate_documents(DOCUMENTS, [0] * 4).source
    wider = Padded(torch.nn.functional.pad(source.ids, (0, 3)), torch.nn.functional.pad(source.mask, (0, 3)))
    for garbage in (EOS, 9):
        dirty = Padded(torch.where(wider.mask, wider.ids, garbage), wider.mask)
        with torch.no_grad():
            torch.testing.assert_close(model(dirty).logits, whole.logits)


def test_weights_are_distributions_over_real_words_and_real_sentences(model: DocumentClassifier):
    output = read(model, DOCUMENTS)
    words, sentences = [3, 2, 1, 2, 1, 4, 2, 1], [2, 1, 3, 2]
    for weights, lengths in ((output.words, words), (output.sentences, sentences)):
        assert weights.shape == (len(lengths), max(lengths))
        torch.testing.assert_close(weights.sum(1), torch.ones(len(lengths)))
        for row, length in zip(weights, lengths, strict=True):
            assert (row >= 0).all() and (row[length:] == 0).all()


def test_the_order_of_documents_does_not_matter(model: DocumentClassifier):
    order = [2, 0, 3, 1]
    moved = read(model, [DOCUMENTS[at] for at in order])
    torch.testing.assert_close(moved.logits, read(model, DOCUMENTS).logits[order])


def test_the_order_of_sentences_and_of_words_matters(model: DocumentClassifier):
    documents = [[7, 8, 9, EOS, 5, 6], [5, 6, EOS, 7, 8, 9], [9, 8, 7, EOS, 5, 6], [7, 8, EOS, 9, 5, 6]]
    logits = read(model, documents).logits
    for row in range(1, 4):
        assert not torch.allclose(logits[0], logits[row], atol=1e-3)


def test_every_parameter_learns(model: DocumentClassifier):
    batch = collate_documents(DOCUMENTS, [0, 1, 2, 0])
    output = model(batch.source)
    output.head.loss(output.features, batch.labels[:, 0], 0.0)[0].backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_documents_are_cut_at_ends_and_put_in_rows():
    source = collate_documents(DOCUMENTS, [0] * 4).source
    cut = cut_at_ends(source)
    assert (cut.lengths.tolist(), cut.sentences.tolist()) == ([3, 2, 1, 2, 1, 4, 2, 1], [2, 1, 3, 2])
    assert in_rows(cut.words, cut.lengths)[5].tolist() == [9, 8, 7, 6]
    assert in_rows(cut.words, cut.lengths)[2].tolist() == [4, 0, 0, 0]


def test_word_vectors_sentence_vectors_and_the_document_vector_are_dropped(monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(3)
    settings = parse(ClassifierSettings, {"embedding": 6, "hidden": 4, "attention": 5})
    shapes, draw = list[tuple[int, ...]](), Dropout._keep
    monkeypatch.setattr(Dropout, "_keep", lambda layer, states: shapes.append(states.shape) or draw(layer, states))
    DocumentClassifier(settings, VOCABULARY, LABELS)(collate_documents(DOCUMENTS, [0] * 4).source)
    assert shapes == [(8, 4, 6), (8, 8), (4, 8)]
