"""Samples: the right distribution, the same for the same seed, scored by the model."""

from collections import Counter
from random import Random

import pytest
import torch
from tests.decoding.toys import ToyDecoder, encoded, log_prob

from dragoman.decoding import DecodingSettings, Hypotheses, step_of
from dragoman.decoding.sample import sample, sample_steps, shape
from dragoman.interfaces import BOS, PAD
from dragoman.special_ids import SpecialIds

LIKELY = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()


def draw(decoder: ToyDecoder, sources: list[int], *, seed: int = 1, limit: int = 6, **settings: float) -> Hypotheses:
    return sample(
        step_of(decoder),
        decoder.start(encoded(sources)),
        torch.full((len(sources),), limit),
        settings=DecodingSettings.model_validate({"method": "sample", **settings}),
        generator=torch.Generator().manual_seed(seed),
    )


def test_the_same_seed_gives_the_same_samples() -> None:
    decoder = ToyDecoder(vocabulary=9)
    assert draw(decoder, [3, 11], n_best=4) == draw(decoder, [3, 11], n_best=4)
    assert draw(decoder, [3, 11], n_best=4) != draw(decoder, [3, 11], n_best=4, seed=2)


def test_samples_follow_the_models_distribution() -> None:
    decoder = ToyDecoder(vocabulary=5)
    decoder.table[:, :2] = -torch.inf
    count = 4000
    drawn = Counter(tuple(ids) for ids in draw(decoder, [3], n_best=count, limit=2).ids[0])
    for ids in [(), (3,), (4,)]:
        probability = torch.tensor(log_prob(decoder, 3, list(ids))).exp().item()
        assert drawn[ids] / count == pytest.approx(probability, abs=0.03)


def test_scores_of_samples_are_the_models_own_at_any_temperature() -> None:
    decoder = ToyDecoder(vocabulary=9)
    found = draw(decoder, [3, 11], n_best=3, temperature=0.3, top_k=4, top_p=0.9)
    for source, alternatives in zip([3, 11], found.alternatives(), strict=True):
        assert len(alternatives) == 3
        for one in alternatives:
            assert len(one.ids) <= 6
            assert one.log_prob == pytest.approx(log_prob(decoder, source, one.ids), abs=1e-4)
            assert one.score == pytest.approx(one.log_prob / ((5 + len(one.ids) + 1) / 6), abs=1e-4)
            assert len(one.token_log_probs) == len(one.ids) + 1
            assert sum(one.token_log_probs) == pytest.approx(one.log_prob, abs=1e-4)


def test_drawing_among_one_token_is_greedy() -> None:
    decoder = ToyDecoder(vocabulary=9)
    best = draw(decoder, [3, 11], n_best=2, top_k=1)
    assert best.ids == draw(decoder, [3, 11], n_best=2, top_p=1e-6, seed=9).ids
    assert best.ids[0][0] == best.ids[0][1]


def test_top_k_keeps_the_likeliest() -> None:
    kept = shape(LIKELY, DecodingSettings(top_k=2)).exp()
    torch.testing.assert_close(kept, torch.tensor([[0.0, 4 / 7, 0.0, 3 / 7]]))


def test_the_nucleus_is_the_fewest_tokens_that_reach_the_sum() -> None:
    kept = shape(LIKELY, DecodingSettings(top_p=0.65)).exp()
    torch.testing.assert_close(kept, torch.tensor([[0.0, 4 / 7, 0.0, 3 / 7]]))
    kept = shape(LIKELY, DecodingSettings(top_p=0.75)).exp()
    torch.testing.assert_close(kept, torch.tensor([[0.0, 4 / 9, 2 / 9, 3 / 9]]))


def test_the_nucleus_is_one_of_the_tokens_that_top_k_keeps() -> None:
    kept = shape(LIKELY, DecodingSettings(top_k=2, top_p=0.5)).exp()
    torch.testing.assert_close(kept, torch.tensor([[0.0, 1.0, 0.0, 0.0]]))


def test_temperature_sharpens() -> None:
    sharp = shape(LIKELY, DecodingSettings(temperature=0.5)).exp()
    torch.testing.assert_close(sharp, torch.tensor([[1.0, 16.0, 4.0, 9.0]]) / 30)


def draw_apart(decoder: ToyDecoder, sources: list[int], **settings: float) -> dict[int, list[list[int]]]:
    """Draw with a generator for each sentence."""
    found = sample(
        step_of(decoder),
        decoder.start(encoded(sources)),
        torch.full((len(sources),), 6),
        settings=DecodingSettings.model_validate({"method": "sample", **settings}),
        generator=[Random(source) for source in sources],
    )
    return dict(zip(sources, found.ids, strict=True))


def test_samples_of_a_sentence_with_its_own_generator_do_not_depend_on_the_others() -> None:
    decoder = ToyDecoder(vocabulary=9)
    together = draw_apart(decoder, [3, 11, 42], n_best=4)
    assert draw_apart(decoder, [42, 3], n_best=4) == {source: together[source] for source in (42, 3)}
    assert len({tuple(ids) for ids in together[3]}) > 1


def test_samples_with_generators_of_their_own_follow_the_models_distribution() -> None:
    decoder = ToyDecoder(vocabulary=5)
    decoder.table[:, :2] = -torch.inf
    count = 4000
    drawn = Counter(tuple(ids[:1]) for ids in draw_apart(decoder, [3], n_best=count)[3])
    for ids in [(), (3,), (4,)]:
        output, _ = decoder(torch.tensor([[1]]), decoder.start(encoded([3])))
        token = ids[0] if ids else 2
        assert drawn[ids] / count == pytest.approx(output.logits[0, -1].softmax(-1)[token].item(), abs=0.03)


def test_the_steps_of_sampling_end_in_the_samples() -> None:
    decoder, settings = ToyDecoder(vocabulary=9), DecodingSettings(method="sample", n_best=2)
    steps = sample_steps(
        step_of(decoder),
        decoder.start(encoded([3, 11])),
        torch.tensor([6, 6]),
        settings=settings,
        generator=torch.Generator().manual_seed(1),
    )
    found: dict[int, list[list[int]]] = {}
    for number, one in enumerate(steps, 1):
        found |= {sentence: sorted(some.ids for some in done) for sentence, done in one.completed.items()}
        assert all(len(some.ids) == number for still in one.open_hypotheses().values() for some in still)
    assert [found[0], found[1]] == [sorted(ids) for ids in draw(decoder, [3, 11], n_best=2).ids]


def test_padding_and_the_beginning_are_never_drawn() -> None:
    decoder = ToyDecoder(vocabulary=6)
    decoder.table[:, [PAD, BOS]] = 20.0
    for alternatives in draw(decoder, [3, 11], n_best=20).ids:
        assert any(alternatives) and not {PAD, BOS} & {token for ids in alternatives for token in ids}


def test_samples_end_where_the_vocabulary_has_its_eos() -> None:
    special = SpecialIds(pad=4, bos=3, eos=0, unk=1, mask=3)
    found = sample(
        lambda tokens, state: (torch.zeros(len(tokens), 5), state),
        ToyDecoder().start(encoded([3, 11])),
        torch.tensor([30, 30]),
        settings=DecodingSettings(method="sample", n_best=8),
        generator=[Random(1), Random(2)],
        special=special,
    )
    assert {token for ids in found.ids for one in ids for token in one} == {1, 2}
    assert len({len(one) for ids in found.ids for one in ids}) > 1


@pytest.mark.parametrize("temperature", [1e-40, 1e-300])
def test_the_lowest_temperature_takes_the_likeliest(temperature: float) -> None:
    shaped = shape(torch.tensor([[0.2, 0.5, 0.3]]).log(), DecodingSettings(method="sample", temperature=temperature))
    assert shaped.exp().tolist() == [[0.0, 1.0, 0.0]]
