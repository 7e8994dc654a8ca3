"""Filling blanks with a masked language model."""

from collections.abc import Callable

import pytest
import torch
from tests.tiny import Trained

from dragoman.errors import InputError
from dragoman.inference.mask_filler import BLANK, MaskFiller
from dragoman.interfaces import UNK
from dragoman.models.build import build_model
from dragoman.models.masked_lm import MaskedLanguageModel
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import MaskedSettings
from dragoman.special_ids import MASK
from dragoman.text.codec import learn_codec
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings

TEXTS = ["I like to play football.", "the old sea (again)", "a boat, a sea, who sat there?", "unable to play"] * 3

MISSION = "I like to play [MASK] football"


def filler(text: TextSettings, **settings: object) -> MaskFiller:
    """A filler around a model that has learned nothing."""
    codec = learn_codec(text, TEXTS)
    torch.manual_seed(1)
    sizes = {"encoder_layers": 1, "width": 16, "feed_forward": 16, "heads": 2}
    model = build_model(MaskedSettings(**sizes, **settings), Vocabularies(len(codec), len(codec)))
    assert isinstance(model, MaskedLanguageModel)
    return MaskFiller(model.eval(), codec)


def knowing(
    given: MaskFiller, answers: Callable[[list[int]], dict[int, str]], monkeypatch: pytest.MonkeyPatch
) -> MaskFiller:
    """Let a filler be certain of what `answers` says for the ids that it reads: a piece for each place of a blank."""

    def probabilities(ids: list[int]) -> torch.Tensor:
        table = torch.full((len(ids) + 1, len(given.codec)), 1e-3)
        for place, piece in answers(ids).items():
            table[place, given.codec.tokenizer.vocabulary.id(piece)] += 0.5 + place / 100
        return table

    monkeypatch.setattr(given, "_probabilities", probabilities)
    return given


PIECES: dict[str, TextSettings] = {
    "words": WordsSettings(minimum_count=1),
    "byte pairs": SentencePieceSettings(size=60),
    "unigram": SentencePieceSettings(size=34, algorithm="unigram"),
    "characters": CharactersSettings(),
}


@pytest.mark.parametrize("kind", PIECES)
@pytest.mark.parametrize(
    "sentence", [MISSION, "[MASK]", "un[MASK]able ([MASK]) [MASK][MASK].", "[MASK] \u4f60[MASK]\u4f60"]
)
def test_every_blank_is_one_position_and_the_rest_is_kept(kind: str, sentence: str) -> None:
    found = filler(PIECES[kind])
    pieces, ids = found._tokenise(sentence)
    assert ids.count(MASK) == sentence.count(BLANK) and len(pieces) == len(ids)
    filled = found.fill(sentence, top=3)
    assert len(filled.blanks) == sentence.count(BLANK)
    assert BLANK not in filled.text and "\ua66e" not in filled.text
    assert ("\u4f60" in sentence) == ("\u4f60" in filled.text)


@pytest.mark.parametrize("kind", ["words", "byte pairs", "unigram"])
def test_text_around_blanks_is_cut_as_if_a_word_stood_there(kind: str) -> None:
    found = filler(PIECES[kind])
    whole = found.codec.encode("a sea, a sea (sea)")
    piece = found.codec.encode("sea")
    _, ids = found._tokenise("a [MASK], a [MASK] (sea)")
    if len(piece) == 1:
        assert [piece[0] if index == MASK else index for index in ids] == whole
    _, ids = found._tokenise("[MASK] boat, a sea, who sat there?")
    if len(found.codec.encode("a")) == 1:
        assert ids[1:] == found.codec.encode("a boat, a sea, who sat there?")[1:]


def test_the_surest_blank_is_filled_first_and_the_others_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    words = filler(WordsSettings(minimum_count=1))
    sea = words.codec.tokenizer.vocabulary.id("sea")

    def answers(ids: list[int]) -> dict[int, str]:
        return {0: "old"} if sea in ids else {0: "the", 1: "sea"}

    filled = knowing(words, answers, monkeypatch).fill("[MASK] [MASK]", top=2)
    assert filled.text == "old sea"
    assert [row[0].text for row in filled.blanks] == ["the", "sea"]


def test_probabilities_are_of_real_pieces_and_sum_to_one() -> None:
    words = filler(WordsSettings(minimum_count=1))
    (blank,) = words.fill("the [MASK] sea", top=1000).blanks
    assert len(blank) == len(words.codec) - UNK - 1
    assert sum(one.probability for one in blank) == pytest.approx(1)
    assert [one.probability for one in blank] == sorted((one.probability for one in blank), reverse=True)


def test_no_pieces_are_told_where_none_are_asked_for() -> None:
    assert filler(WordsSettings(minimum_count=1)).fill("the [MASK] sea", top=0).blanks == ((),)


def test_a_sentence_without_a_blank_is_refused() -> None:
    with pytest.raises(InputError, match=r"the sentence has no \[MASK\] \(`I like`\); write \[MASK\]"):
        filler(WordsSettings(minimum_count=1)).fill("I like")


def test_a_sentence_longer_than_the_positions_is_refused() -> None:
    short = filler(WordsSettings(minimum_count=1), positions="learned", max_positions=4)
    assert short.fill("the [MASK] sea").text
    with pytest.raises(InputError, match=r"line 3 has 5 tokens \(with </s>\), more than the 4 positions"):
        short.fill("the [MASK] sea sea", name="line 3")


def test_the_sentence_of_the_mission_is_filled_by_a_run(trained: Trained) -> None:
    filled = MaskFiller.load(trained("masked_lm")).fill(MISSION)
    assert filled.text.startswith("I like to play") and filled.text.endswith("football")
    assert len(filled.blanks[0]) == 5


@pytest.mark.parametrize("kind", ["rnn", "decoder_only"])
def test_a_run_of_another_kind_is_refused(trained: Trained, kind: str) -> None:
    with pytest.raises(InputError, match=r"a masked language model.*`dragoman"):
        MaskFiller.load(trained(kind))
