"""Steps of single models and ensembles."""

import math

import pytest
import torch
from tests.decoding.toys import ToyDecoder, encoded

from dragoman.decoding import DecodingSettings, EnsembleState, beam_search, ensemble, step_of
from dragoman.errors import InputError
from dragoman.interfaces import BOS

BEGIN = torch.tensor([[BOS], [BOS]])


def begin(*decoders: ToyDecoder) -> EnsembleState:
    return EnsembleState(tuple(decoder.start(encoded([3, 11])) for decoder in decoders))


def test_a_step_gives_the_logits_of_the_last_position() -> None:
    decoder = ToyDecoder()
    logits, _ = step_of(decoder)(BEGIN, decoder.start(encoded([3, 11])))
    assert logits.shape == (2, 6)
    assert torch.equal(logits, decoder(BEGIN, decoder.start(encoded([3, 11])))[0].logits[:, -1])


def test_an_ensemble_gives_probabilities_that_sum_to_one() -> None:
    first, second = ToyDecoder(seed=1), ToyDecoder(seed=2)
    log_probs, _ = ensemble([step_of(first), step_of(second)])(BEGIN, begin(first, second))
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(2))


def test_a_step_is_in_float32_whatever_the_model() -> None:
    decoder = ToyDecoder()
    decoder.table = decoder.table.bfloat16()
    logits, _ = step_of(decoder)(BEGIN, decoder.start(encoded([3, 11])))
    assert logits.dtype == torch.float32


def test_an_ensemble_of_two_equal_models_equals_one() -> None:
    decoder = ToyDecoder(vocabulary=9)
    settings, limits = DecodingSettings(beam=4, n_best=4), torch.tensor([6, 6])
    one = beam_search(step_of(decoder), decoder.start(encoded([3, 11])), limits, settings=settings)
    step = ensemble([step_of(decoder), step_of(decoder)])
    two = beam_search(step, begin(decoder, decoder), limits, settings=settings)
    assert two.ids == one.ids
    assert two.log_prob[0] == pytest.approx(one.log_prob[0], abs=1e-5)


def test_an_ensemble_averages_probabilities_by_weight() -> None:
    first, second = ToyDecoder(seed=1), ToyDecoder(seed=2)
    step = ensemble([step_of(first), step_of(second)], weights=[3.0, 1.0])
    log_probs, state = step(BEGIN, begin(first, second))
    parts = [step_of(one)(BEGIN, one.start(encoded([3, 11])))[0].softmax(-1) for one in (first, second)]
    torch.testing.assert_close(log_probs.exp(), 0.75 * parts[0] + 0.25 * parts[1])
    assert isinstance(state, EnsembleState)


def test_rows_of_an_ensembles_state_follow_hypotheses() -> None:
    first, second = ToyDecoder(seed=1), ToyDecoder(seed=2)
    step = ensemble([step_of(first), step_of(second)])
    _, state = step(torch.tensor([[4], [5]]), begin(first, second))
    tokens = torch.tensor([[3], [4]])
    expected, _ = step(tokens, state)
    swapped, _ = step(tokens.flip(0), state.select(torch.tensor([1, 0])))
    torch.testing.assert_close(swapped.flip(0), expected)
    doubled, _ = step(tokens.repeat_interleave(2, 0), state.expand(2))
    torch.testing.assert_close(doubled, expected.repeat_interleave(2, 0))
    same, _ = step(
        tokens[:1].expand(2, 1),
        state.expand(2).reorder(torch.tensor([1, 0, 3, 2])).select(torch.tensor([0, 1]), torch.tensor([0])),
    )
    torch.testing.assert_close(same, expected[:1].expand(2, -1))


def test_models_of_different_vocabularies_are_refused() -> None:
    small, large = ToyDecoder(vocabulary=6), ToyDecoder(vocabulary=7)
    step = ensemble([step_of(small), step_of(large)])
    with pytest.raises(InputError) as caught:
        step(BEGIN, begin(small, large))
    assert str(caught.value) == (
        "the models of an ensemble have target vocabularies of 6 and 7 tokens; "
        "give models trained with the same vocabulary"
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "an ensemble of 2 models needs 2 weights but has 1"),
        ([1.0, -1.0], "the weights of an ensemble are 1.0 and -1.0; give positive numbers"),
        ([1.0, math.nan], "the weights of an ensemble are 1.0 and nan; give positive numbers"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: list[float], message: str) -> None:
    step = step_of(ToyDecoder())
    with pytest.raises(InputError) as caught:
        ensemble([step, step], weights)
    assert str(caught.value) == message


def test_an_ensemble_of_nothing_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        ensemble([])
    assert str(caught.value) == "an ensemble needs at least one model; give one or more runs"
