"""TargetScores decoding agrees with one token at a time."""

import pytest
import torch
from tests.decoding.toys import ToyDecoder, encoded, log_prob

from dragoman.decoding import DecodingSettings, beam_search, score_target, step_of
from dragoman.interfaces import BOS, EOS, PAD, Padded

TARGET = torch.tensor([[BOS, 4, 5, EOS], [BOS, 3, EOS, PAD]])


def test_given_translations_get_the_models_log_probabilities() -> None:
    decoder = ToyDecoder()
    forced = score_target(decoder, encoded([3, 11]), Padded(TARGET, TARGET != PAD))
    expected = [log_prob(decoder, 3, [4, 5]), log_prob(decoder, 11, [3])]
    assert forced.log_prob.tolist() == pytest.approx(expected, abs=1e-5)
    torch.testing.assert_close(forced.tokens.sum(-1), forced.log_prob)
    assert forced.tokens.shape == (2, 3)
    assert forced.tokens[1, 2] == 0
    assert forced.attention is None


def test_forcing_what_was_found_gives_the_reported_score() -> None:
    decoder = ToyDecoder()
    best = beam_search(
        step_of(decoder), decoder.start(encoded([3])), torch.tensor([5]), settings=DecodingSettings()
    ).best()[0]
    target = torch.tensor([[BOS, *best.ids, EOS]])
    forced = score_target(decoder, encoded([3]), Padded(target, torch.ones_like(target, dtype=torch.bool)))
    assert forced.log_prob.item() == pytest.approx(best.log_prob, abs=1e-5)


def test_weights_come_where_asked_for() -> None:
    forced = score_target(ToyDecoder(), encoded([3, 11]), Padded(TARGET, TARGET != PAD), need_weights=True)
    assert forced.attention is not None
    assert forced.attention.shape == (2, 1, 1, 3, 4)


def test_entropies_come_where_asked_for_and_are_zero_on_padding() -> None:
    decoder, target = ToyDecoder(), Padded(TARGET, TARGET != PAD)
    output, _ = decoder(TARGET[:, :-1], decoder.start(encoded([3, 11])))
    expected = torch.distributions.Categorical(logits=output.logits).entropy()
    forced = score_target(decoder, encoded([3, 11]), target, need_entropies=True)
    torch.testing.assert_close(forced.entropies, expected.masked_fill(TARGET[:, 1:] == PAD, 0.0))
    assert score_target(decoder, encoded([3, 11]), target).entropies is None
