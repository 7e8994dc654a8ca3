"""What a model attended to, by pieces and by words."""

import pytest
import torch
from tests.tiny import MODELS, Trained

from dragoman.errors import InputError
from dragoman.inference.attention_map import AttentionMap, HeadSelection, Side, as_given, side, with_words
from dragoman.inference.translator import Translator
from dragoman.text import Codec, WordsSettings, learn_codecs


@pytest.fixture(scope="module")
def codec() -> Codec:
    """Return a codec of words and punctuation marks."""
    return learn_codecs(WordsSettings(minimum_count=1), lambda: [("I love cats .", "a"), ("Cats, I love.", "b")])[0]


@pytest.fixture
def reading() -> AttentionMap:
    """Return weights of two layers and one head: `ca ts .` read while writing `mèo .`, each side ending in </s>."""
    source = Side(["ca", "ts", ".", "</s>"], ["cats", "."], [0, 0, 1, None])
    target = Side(["mèo", ".", "</s>"], ["mèo", "."], [0, 1, None])
    first = [[0.4, 0.3, 0.1, 0.2], [0.1, 0.1, 0.7, 0.1], [0.0, 0.0, 0.0, 1.0]]
    second = [[0.1, 0.0, 0.9, 0.0], [0.2, 0.2, 0.5, 0.1], [0.0, 0.0, 0.0, 1.0]]
    return AttentionMap(source, target, torch.tensor([[first], [second]]))


def test_pieces_are_put_together_into_words(reading: AttentionMap):
    expected = torch.tensor([[[[0.7, 0.1], [0.2, 0.7]]], [[[0.1, 0.9], [0.4, 0.5]]]])
    torch.testing.assert_close(reading.by_words(), expected)


def test_links_follow_the_mean_or_one_layer(reading: AttentionMap):
    assert reading.links().sure == {(1, 0), (1, 1)}
    assert reading.links(layer=1).sure == {(0, 0), (1, 1)}
    assert reading.links(layer=2, head=1).sure == {(1, 0), (1, 1)}


def test_shifted_links_are_those_of_the_step_that_read_the_word(reading: AttentionMap):
    expected = torch.tensor([[[[0.2, 0.7], [0.0, 0.0]]], [[[0.4, 0.5], [0.0, 0.0]]]])
    torch.testing.assert_close(reading.by_words(shift=True), expected)
    assert reading.links(shift=True).sure == {(1, 0)}
    assert HeadSelection(1, 1, shift=True).links(reading) == reading.links(1, 1, shift=True)


def test_words_stand_between_spaces_as_given_with_unknown_ones(codec: Codec):
    found = as_given(codec, "Dogs\u00a0(so!) I  love")
    assert found.words == ["Dogs (so!)", "I", "love"]
    assert found.pieces == ["Dogs", "(￭", "so", "￭!", "￭)", "I", "love", "</s>"]
    assert found.owners == [0, 0, 0, 0, 0, 1, 2, None]
    assert as_given(codec, "\u200b cats").owners == [1, None]


@pytest.mark.parametrize(("requested", "size"), [({"layer": 3}, 2), ({"layer": 0}, 2), ({"head": 2}, 1)])
def test_layers_and_heads_that_are_not_there_are_refused(reading: AttentionMap, requested, size):
    with pytest.raises(
        InputError, match=f"there is no {next(iter(requested))} .; this model has {size}, counted from 1"
    ):
        reading.links(**requested)


def test_pictures_show_words_or_pieces(reading: AttentionMap):
    words, pieces = reading.picture("a title"), reading.picture(pieces=True)
    assert (words.source_words, words.target_words, words.title) == (["cats", "."], ["mèo", "."], "a title")
    assert (pieces.source_words[-1], pieces.target_words[-1]) == ("</s>", "</s>")
    assert (words.layers, words.heads) == (2, 1)
    torch.testing.assert_close(torch.tensor(words.mean), reading.by_words().mean((0, 1)))


def test_a_side_knows_the_word_of_each_piece(codec: Codec):
    found = side(codec, codec.encode("Cats, I love."))
    assert found.words == ["Cats,", "I", "love."]
    assert found.owners == [0, 0, 1, 2, 2, None]
    assert len(found.pieces) == 6


def test_words_may_be_cut_otherwise(codec: Codec):
    found = with_words(codec, "Cats, I love.", ["Cats", ",", "I love", "."])
    assert found.owners == [0, 1, 2, 2, 3, None]
    assert found.words == ["Cats", ",", "I love", "."]


def test_words_of_another_sentence_are_refused(codec: Codec):
    with pytest.raises(InputError, match=r"the words `I hate cats` do not spell the sentence `I love cats\.`"):
        with_words(codec, "I love cats.", ["I", "hate", "cats"])


@pytest.mark.parametrize("model", MODELS)
def test_each_step_looks_somewhere(trained: Trained, model):
    translator = Translator.load(trained(model))
    for found in translator.attention_maps(["I love cats.", "No."], ["Tôi yêu mèo.", "Không."]):
        assert found.weights.shape[2:] == (len(found.target.pieces), len(found.source.pieces))
        torch.testing.assert_close(found.weights.sum(-1), torch.ones(found.weights.shape[:3]))
        assert found.mean().shape == found.weights.shape[2:]


def test_company_does_not_change_a_reading(trained: Trained):
    translator = Translator.load(trained("transformer"))
    sources, targets = ["No.", "The cat sits on the mat."], ["Không.", "Con mèo ngồi."]
    together = translator.attention_maps(sources, targets)
    for source, target, found in zip(sources, targets, together, strict=True):
        (alone,) = translator.attention_maps([source], [target])
        assert alone.source == found.source
        torch.testing.assert_close(alone.weights, found.weights, atol=1e-5, rtol=1e-4)
