"""What is shown of the sentences before one."""

import pytest
import torch
from tests.tiny import Trained

from dragoman.errors import InputError
from dragoman.inference.attention_map import Side
from dragoman.inference.context_attention import DocumentReading, read_previous
from dragoman.inference.translator import Translator
from dragoman.models.build import build_model
from dragoman.models.document import DocumentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies

READING = DocumentReading(
    Side(["it", "</s>"], ["it"], [0, None]),
    (Side(["a", "boat", "</s>"], ["a", "boat"], [0, 1, None]), Side(["ye", "s", "</s>"], ["yes"], [0, 0, None])),
    (torch.tensor([[[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]]), torch.tensor([[[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]])),
    torch.tensor([[[0.75, 0.25], [0.5, 0.5]]]),
    torch.tensor([0.5, 1.0]),
)


def test_each_level_has_its_picture() -> None:
    words, sentences = READING.picture_of_words("w"), READING.picture_of_sentences()
    assert words.axes == sentences.axes == ("key", "query")
    assert (words.source_words, words.target_words, words.title) == (["[-2] a", "boat", "[-1] yes"], ["it"], "w")
    assert words.weights == [[[[0.25, 0.5, 0.75]]]]
    assert sentences.source_words == ["[-2] a boat", "[-1] yes"]
    assert sentences.weights == [[[[0.75, 0.25]]]]


def test_the_table_tells_what_was_kept_and_where_the_rest_is_from() -> None:
    assert READING.table() == "word  kept  [-2]  [-1]\nit    0.50  0.75  0.25"


@pytest.fixture
def translator(trained: Trained) -> Translator:
    """A trained run's codecs, with a fresh model of documents."""
    loaded = Translator.load(trained("transformer"))
    torch.manual_seed(1)
    settings = DocumentSettings(width=8, heads=2, feed_forward=8, encoder_layers=1, decoder_layers=1, previous=2)
    size = len(loaded.source)
    model = build_model(settings, Vocabularies(size, size, shared=True))
    assert isinstance(model, Seq2Seq)
    return Translator([model.eval()], loaded.source, loaded.target)


def test_the_nearest_sentences_with_words_are_shown(translator: Translator) -> None:
    model, codec = translator.models[0], translator.source
    found = read_previous(model, codec, "I love cats.", previous=["Far away.", "No.", "", "This is a book."])
    assert [side.words for side in found.previous] == [["No."], ["This", "is", "a", "book."]]
    assert found.sentence.words == ["I", "love", "cats."]
    for weights, side in zip(found.words, found.previous, strict=True):
        assert weights.shape == (2, len(found.sentence.pieces), len(side.pieces))
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))
    torch.testing.assert_close(found.sentences.sum(-1), torch.ones(2, len(found.sentence.pieces)))
    with pytest.raises(InputError, match="no previous sentence is given; give at least one that is not empty"):
        read_previous(model, codec, "I love cats.", previous=[" "])


def test_a_model_that_reads_no_previous_sentences_is_refused(trained: Trained) -> None:
    plain = Translator.load(trained("transformer"))
    with pytest.raises(InputError, match="this run does not read previous sentences"):
        read_previous(plain.models[0], plain.source, "I love cats.", previous=["No."])
    with pytest.raises(InputError, match="`previous` sentences are for document models"):
        plain.translate(["I love cats."], previous=[["No."]])


def test_a_previous_sentence_that_is_too_long_is_named(translator: Translator) -> None:
    translator.models[0].source_positions = 20
    with pytest.raises(
        InputError, match=r"previous sentence 2 has \d+ tokens \(with </s>\), more than the 20 positions"
    ):
        translator.translate(["No."], previous=[["No.", "cats " * 40]])
