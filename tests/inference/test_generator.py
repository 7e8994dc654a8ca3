"""Continuing text with a decoder-only language model."""

import pytest
import torch
from tests.tiny import Trained

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError
from dragoman.inference import batching
from dragoman.inference.generator import TextGenerator
from dragoman.inference.torch_engine import output_layer
from dragoman.interfaces import BOS, EOS, Padded
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.models.transformer_settings import DecoderOnlySettings
from dragoman.text.codec import learn_codec
from dragoman.text.settings import WordsSettings

TEXTS = ["I like to play football.", "the old sea", "a boat, a sea, who sat there?"]
BEGINNINGS = ["the old", "", "a boat,", "who", "the"]


def continuer(*, bound: int | None = None, **decoding: object) -> TextGenerator:
    """A continuer around a model that has learned nothing, but whose choices are clear."""
    codec = learn_codec(WordsSettings(minimum_count=1), TEXTS)
    torch.manual_seed(1)
    positions = {} if bound is None else {"positions": "learned", "max_positions": bound}
    sizes = {"decoder_layers": 1, "width": 16, "feed_forward": 16, "heads": 2}
    model = build_model(DecoderOnlySettings(**sizes, **positions), Vocabularies(len(codec), len(codec), shared=True))
    assert isinstance(model, Seq2Seq)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return TextGenerator(model.eval(), codec, DecodingSettings(**decoding))


def log_prob(given: TextGenerator, text: str, whole: str) -> float:
    """The model's log-probability of what follows `text` in `whole`, read all at once."""
    start, ids = given.codec.encode(text), given.codec.encode(whole)
    tokens = torch.tensor([[BOS, *ids, EOS]])
    batch = torch.zeros(1, 1, dtype=torch.long)
    state = given.model.decoder.start(given.model.encoder(Padded(batch, batch == 0)))
    output, _ = given.model.decoder(tokens[:, :-1], state)
    each = output.logits.log_softmax(-1).gather(-1, tokens[:, 1:, None])[0, :, 0]
    return each[len(start) :].sum().item()


@pytest.mark.parametrize("decoding", [{"beam": 4}, {"method": "greedy"}, {"method": "sample"}], ids=str)
def test_scores_are_the_models_own_of_what_was_written(decoding: dict[str, object]) -> None:
    given = continuer(maximum_length=5, **decoding)
    for text, (found,) in zip(BEGINNINGS, given.generate_texts(BEGINNINGS), strict=True):
        assert found.text.startswith(text)
        assert found.log_prob == pytest.approx(log_prob(given, text, found.text), abs=1e-3)


def test_texts_do_not_know_of_their_neighbours() -> None:
    given = continuer(beam=3, n_best=3, maximum_length=6)
    together = given.generate_texts(BEGINNINGS)
    for text, found in zip(BEGINNINGS, together, strict=True):
        (alone,) = given.generate_texts([text])
        assert [one.text for one in alone] == [one.text for one in found]
        assert len(found) == 3 and [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_several_continuations_are_different_texts_filled_up_from_the_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    given = continuer(beam=4)
    known = [Hypothesis(ids, -1.0, -1.0) for ids in ([5], [5, 4], [6], [7])]
    monkeypatch.setattr(given.codec, "join", lambda pieces: pieces[1])
    monkeypatch.setattr(given, "_search", lambda *asked: [known[: asked[-1].n_best]])
    for wanted, places in ((1, [0]), (2, [0, 2]), (4, [0, 2, 3])):
        (found,) = given.generate_texts(["the"], n_best=wanted)
        assert [one.text for one in found] == [given.codec.pieces(known[place].ids)[0] for place in places]


def test_at_most_so_many_pieces_are_written() -> None:
    given = continuer(beam=2, minimum_length=2, maximum_length=2)
    for text, (found,) in zip(BEGINNINGS, given.generate_texts(BEGINNINGS), strict=True):
        assert len(given.codec.encode(found.text)) == len(given.codec.encode(text)) + 2


def test_what_is_written_stays_within_the_positions() -> None:
    given = continuer(bound=6, beam=2, minimum_length=9)
    for _, (found,) in zip(BEGINNINGS, given.generate_texts(BEGINNINGS), strict=True):
        assert len(given.codec.encode(found.text)) == 5
    with pytest.raises(InputError, match=r"text 8 has 7 tokens \(with </s>\), more than the 6 positions"):
        given.generate_texts(["the", "the old sea the old sea"], first=7)


def test_unknown_words_of_the_text_are_kept() -> None:
    ((found,),) = continuer(maximum_length=3).generate_texts(["the zyx sea"])
    assert found.text.startswith("the zyx sea")


def test_a_rank_for_translations_gives_no_more_than_asked_for() -> None:
    assert len(continuer(beam=4, coverage_penalty=0.3).generate_texts(["the"])[0]) == 1


def test_a_run_continues_text(trained: Trained) -> None:
    ((found,),) = TextGenerator.load(trained("decoder_only"), maximum_length=4).generate_texts(["I like"])
    assert found.text.startswith("I like")


@pytest.mark.parametrize("kind", ["rnn", "masked_lm"])
def test_a_run_of_another_kind_is_refused(trained: Trained, kind: str) -> None:
    with pytest.raises(InputError, match=r"a decoder-only language model.*`dragoman"):
        TextGenerator.load(trained(kind))


def test_texts_may_come_one_by_one_but_a_single_one_is_refused():
    given = continuer(method="greedy")
    assert given.generate_texts(iter(BEGINNINGS)) == given.generate_texts(BEGINNINGS)
    assert given.score(iter(TEXTS)) == given.score(TEXTS)
    for ask in (given.generate_texts, given.score):
        with pytest.raises(InputError, match="'the old' is one text"):
            ask("the old")


def test_many_texts_are_scored_with_few_logits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given = continuer()
    sizes: list[int] = []
    expected, most = given.score(TEXTS), 20 * len(given.codec)
    output_layer(given.model).register_forward_hook(lambda layer, features, logits: sizes.append(logits.numel()))
    given.score(TEXTS * 4)
    assert max(sizes) > most
    sizes.clear()
    monkeypatch.setattr(batching, "BATCH_LOGITS", most)
    for found, (log_prob, length) in zip(given.score(TEXTS * 4), expected * 4, strict=True):
        assert found == (pytest.approx(log_prob, abs=1e-4), length)
    assert most / 2 < max(sizes) <= most
