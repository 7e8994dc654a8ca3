"""Hypotheses into text, with source words in place of unknown ones."""

from pathlib import Path

import pytest
import torch

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.inference.spelling import Speller
from dragoman.text.codec import Codec, learn_codec
from dragoman.text.settings import WordsSettings

TEXT = ["a red cat sleeps", "a dog sleeps"]


def codec(**settings: object) -> Codec:
    """Learn the words of a few sentences."""
    return learn_codec(WordsSettings(minimum_count=1, **settings), TEXT)


def found(target: Codec, text: str, score: float = -1.0) -> Hypothesis:
    """Return a hypothesis that is a text; words that the vocabulary does not have are unknown."""
    ids = target.encode(text)
    return Hypothesis(ids, score, score, (score,) * (len(ids) + 1))


class Reading:
    """An attention map whose words attend to the source words of the same place."""

    def mean_of_text(self) -> torch.Tensor:
        """Return the weights between the tokens of the texts."""
        return torch.eye(3)


def test_the_first_is_the_translation_and_the_others_are_its_alternatives() -> None:
    target = codec()
    speller = Speller(codec(), target, {})
    best, other = found(target, "a cat sleeps", -1.0), found(target, "a dog sleeps", -2.0)
    made = speller.translation("x", [best, other], dictionary=None, readings=None, replaces=False)
    assert (made.text, made.score) == ("a cat sleeps", -1.0)
    assert [one.text for one in made.alternatives] == ["a dog sleeps"]
    assert len(made.token_log_probs) == 4


def test_where_nothing_was_found_the_translation_is_empty() -> None:
    made = Speller(codec(), codec(), {}).translation("", [], dictionary=None, readings=None, replaces=False)
    assert (made.text, made.alternatives) == ("", ())


@pytest.mark.parametrize(("replaces", "text"), [(True, "a Zorblax sleeps"), (False, "a <unk> sleeps")])
def test_an_unknown_word_becomes_the_source_word_that_was_attended_to(replaces: bool, text: str) -> None:
    target = codec()
    made = Speller(codec(), target, {}).translation(
        "a Zorblax sleeps", [found(target, "a Quimby sleeps")], dictionary=None, readings=[Reading()], replaces=replaces
    )
    assert made.text == text


def test_a_given_dictionary_goes_before_the_runs_own(tmp_path: Path) -> None:
    (tmp_path / "given.tsv").write_text("Zorblax\tgiven\n", encoding="utf-8")
    (tmp_path / "own.tsv").write_text("Zorblax\town\nVexnar\town too\n", encoding="utf-8")
    speller = Speller(codec(), codec(), tmp_path / "own.tsv")
    assert speller.dictionary(None) == {"Zorblax": "own", "Vexnar": "own too"}
    assert speller.dictionary(tmp_path / "given.tsv") == {"Zorblax": "given", "Vexnar": "own too"}
    assert Speller(codec(), codec(), tmp_path / "nothing.tsv").dictionary(None) == {}


def test_an_unknown_word_that_says_where_it_comes_from_needs_no_attention() -> None:
    target = codec(unknown="positional", reach=1)
    ids = [target.tokenizer.vocabulary.id(piece) for piece in ("a", "<unk+1>", "sleeps")]
    made = Speller(codec(), target, {"Zorblax": "cat"}).translation(
        "Zorblax sleeps", [Hypothesis(ids, -1.0, -1.0, ())], dictionary=None, readings=None, replaces=False
    )
    assert made.text == "a cat sleeps"


def test_one_unknown_word_among_others_is_enough() -> None:
    for settings, unknown in (({}, "<unk>"), ({"unknown": "positional", "reach": 1}, "<unk-1>")):
        target = codec(**settings)
        speller, known = Speller(codec(), target, {}), target.encode("a red cat")
        assert not speller.has_unknown(known)
        assert speller.has_unknown([*known, target.tokenizer.vocabulary.id(unknown)])
