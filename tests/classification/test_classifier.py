"""A trained classifier gives each document its label, whatever stands beside it, and shows what it looked at."""

from pathlib import Path

import pytest
from tests.classification.documents import documents

from dragoman.classification import classifier as module
from dragoman.classification.classifier import Classifier
from dragoman.data.labelled import Labelled
from dragoman.errors import CorpusError, InputError

TEXTS = ["I love cats. Who sings?", "The cat sits.", "He doesn't read. She sings. They dance well.", "zyx Unseen"]


@pytest.fixture(scope="module")
def classifier(classifier_run: Path) -> Classifier:
    """The trained classifier."""
    return Classifier.load(classifier_run)


def test_every_label_has_a_probability_and_the_best_is_the_answer(classifier: Classifier):
    for found in classifier.classify(TEXTS):
        assert list(found.probabilities) == ["negation", "plain", "question"]
        assert sum(found.probabilities.values()) == pytest.approx(1)
        assert found.probability == max(found.probabilities.values())


def test_documents_do_not_change_one_another(classifier: Classifier, monkeypatch):
    together = classifier.classify(TEXTS)
    monkeypatch.setattr(module, "BATCH_CELLS", 1)
    for found, alone in zip(together, classifier.classify(TEXTS), strict=True):
        assert found.label == alone.label
        assert found.probabilities == pytest.approx(alone.probabilities, abs=1e-5)
    assert classifier.classify([]) == []


def test_an_empty_document_is_named(classifier: Classifier):
    with pytest.raises(InputError, match="document 2 is empty; give at least one word"):
        classifier.classify(["Good.", " <eos> "])


def test_test_documents_are_counted(classifier: Classifier):
    lines = [line.split("\t") for line in documents(60, seed=3)]
    found = classifier.evaluate([Labelled(label, text, "x") for label, text in lines])
    assert found.total == 60 and found.accuracy >= 0.8
    with pytest.raises(CorpusError, match="x has the label `new`, which training never saw"):
        classifier.evaluate([Labelled("new", "Good.", "x")])


def test_the_picture_holds_the_words_as_written_and_distributions_at_both_levels(classifier: Classifier):
    picture = classifier.explain("Unseen zyx, too. He doesn't sing!")
    assert picture.sentences == [["Unseen", "zyx,", "too."], ["He", "doesn't", "sing!"]]
    assert sum(picture.sentence_weights) == pytest.approx(1)
    assert [sum(weights) for weights in picture.word_weights] == pytest.approx([1, 1])
    assert picture.labels[0][1] == max(probability for _, probability in picture.labels)


def test_what_makes_the_label_gets_the_weight(classifier: Classifier):
    picture = classifier.explain("I love cats. Where is the book? The cat sits on the mat.")
    assert picture.labels[0][0] == "question"
    assert max(range(3), key=picture.sentence_weights.__getitem__) == 1


def test_one_text_is_not_taken_for_several_documents(classifier: Classifier):
    assert classifier.classify(iter(TEXTS)) == classifier.classify(TEXTS)
    with pytest.raises(InputError, match=r"'Good\.' is one text"):
        classifier.classify("Good.")
