"""Law 8 on a toy that can be enumerated, and what users expect of search."""

import math
from itertools import pairwise, product
from typing import Any

import pytest
import torch
from jaxtyping import Float, Int
from tests.decoding.toys import ToyDecoder, encoded, log_prob
from tests.slow import some
from torch import Tensor

from dragoman.decoding import (
    DecodingSettings,
    EnsembleState,
    Hypotheses,
    Hypothesis,
    beam_search,
    ensemble,
    forbid,
    forced_prefix,
    search_steps,
    step_of,
    top_k,
)
from dragoman.errors import RunError
from dragoman.interfaces import BOS, EOS, UNK, DecoderState, Padded
from dragoman.native.compilation import DECODING, available
from dragoman.special_ids import SpecialIds

SOURCES = [3, 11, 42]
WIDE = 128
PENALTIES = [("wu", 0.0), ("wu", 0.6), ("wu", 1.0), ("wu", 3.0), ("average", 1.0), ("none", 1.0)]


@pytest.fixture(autouse=True, params=["in C++", "by torch"])
def likeliest_tokens(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the likeliest tokens be found in either way."""
    if request.param == "by torch":
        monkeypatch.setattr(top_k, "available", lambda part: False)
    elif not available(DECODING):
        pytest.skip("no C++ compiler here")


def search(decoder: ToyDecoder, sources: list[int], limits: list[int], **settings: Any) -> Hypotheses:
    """Search for translations of `sources` with at most `limits` tokens."""
    state = decoder.start(encoded(sources))
    return beam_search(step_of(decoder), state, torch.tensor(limits), settings=DecodingSettings(**settings))


def divisor(kind: str, alpha: float, length: int) -> float:
    """The length normaliser, written out: `length` counts EOS."""
    return {"wu": ((5 + length) / 6) ** alpha, "average": length**alpha, "none": 1.0}[kind]


def every_sequence(vocabulary: int, longest: int) -> list[list[int]]:
    """All translations of up to `longest` tokens."""
    tokens = range(UNK, vocabulary)
    return [list(ids) for length in range(longest + 1) for ids in product(tokens, repeat=length)]


@pytest.mark.parametrize(("kind", "alpha"), some(PENALTIES, PENALTIES[::3]))
@pytest.mark.parametrize("stopping", ["exact", "full"])
def test_a_wide_beam_finds_the_best_sequences(kind: str, alpha: float, stopping: str) -> None:
    decoder, limits = ToyDecoder(), [4, 3, 4]
    found = search(
        decoder,
        SOURCES,
        limits,
        beam=WIDE,
        n_best=5,
        length_normalisation=kind,
        length_penalty=alpha,
        stopping=stopping,
    )
    for source, limit, alternatives in zip(SOURCES, limits, found.alternatives(), strict=True):
        scored = [
            (log_prob(decoder, source, ids) / divisor(kind, alpha, len(ids) + 1), ids)
            for ids in every_sequence(6, limit)
        ]
        scored.sort(reverse=True)
        assert [one.ids for one in alternatives] == [ids for _, ids in scored[:5]]
        assert [one.score for one in alternatives] == pytest.approx([score for score, _ in scored[:5]], abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_score_is_the_models_own(seed: int, size: int) -> None:
    decoder = ToyDecoder(vocabulary=9, seed=seed)
    found = search(decoder, SOURCES, [3, 6, 9], beam=size, n_best=size, length_penalty=0.8)
    for source, alternatives in zip(SOURCES, found.alternatives(), strict=True):
        assert len(alternatives) == size
        for one in alternatives:
            own = log_prob(decoder, source, one.ids)
            assert one.log_prob == pytest.approx(own, abs=1e-5)
            assert one.score == pytest.approx(own / divisor("wu", 0.8, len(one.ids) + 1), abs=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_a_beam_of_one_takes_the_likeliest_token_each_time(seed: int) -> None:
    decoder = ToyDecoder(vocabulary=9, seed=seed)
    for source in SOURCES:
        ids, state, token = [], decoder.start(encoded([source])), BOS
        while token != EOS and len(ids) < 12:
            output, state = decoder(torch.tensor([[token]]), state)
            logits = output.logits[0, -1]
            token = int(logits[EOS:].argmax()) + EOS
            ids += [token] if token != EOS else []
        assert search(decoder, [source], [12], beam=1).best()[0].ids == ids
        assert search(decoder, [source], [12], method="greedy").best()[0].ids == ids


def test_a_wider_beam_finds_better_translations() -> None:
    decoder = ToyDecoder(vocabulary=9)
    decoder.table[:, EOS] -= 2
    sources = list(range(20))
    scores = [sum(one.score for one in search(decoder, sources, [8] * 20, beam=size).best()) for size in (1, 4, 64)]
    assert scores[0] < scores[1] < scores[2]


def test_alternatives_are_sorted_and_distinct() -> None:
    for alternatives in search(ToyDecoder(vocabulary=9), SOURCES, [9] * 3, beam=6, n_best=6).alternatives():
        scores = [one.score for one in alternatives]
        assert len(alternatives) == 6
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.ids) for one in alternatives}) == 6


@pytest.mark.parametrize("stopping", ["exact", "full"])
def test_sentences_alone_and_together_give_the_same(stopping: str) -> None:
    decoder, limits = ToyDecoder(vocabulary=9), {3: 5, 11: 2, 42: 9, 7: 0, 100: 7}
    options = {"beam": 4, "n_best": 3, "stopping": stopping}
    together = search(decoder, list(limits), list(limits.values()), **options).alternatives()
    backwards = search(decoder, list(limits)[::-1], list(limits.values())[::-1], **options).alternatives()
    alone = [search(decoder, [source], [limit], **options).alternatives()[0] for source, limit in limits.items()]
    assert together == alone == backwards[::-1]


def test_more_alternatives_do_not_change_the_best() -> None:
    decoder = ToyDecoder(vocabulary=9)
    one = search(decoder, SOURCES, [9] * 3, beam=5, n_best=1)
    five = search(decoder, SOURCES, [9] * 3, beam=5, n_best=5)
    assert one.best() == five.best()


def test_translations_keep_to_the_maximum_length() -> None:
    found = search(ToyDecoder(vocabulary=9), SOURCES, [0, 1, 2], beam=4, minimum_length=0)
    assert found.best()[0].ids == []
    assert [len(one.ids) <= limit for one, limit in zip(found.best(), [0, 1, 2], strict=True)] == [True] * 3


@pytest.mark.parametrize("size", [1, 4])
def test_translations_keep_to_the_minimum_length(size: int) -> None:
    decoder = ToyDecoder(vocabulary=9)
    decoder.table[:, EOS] += 9
    assert {len(one.ids) for one in search(decoder, SOURCES, [9] * 3, beam=size).best()} == {0}
    found = search(decoder, SOURCES, [9] * 3, beam=size, minimum_length=3)
    assert all(len(one.ids) >= 3 for one in found.best())


def test_padding_and_bos_never_occur() -> None:
    decoder = ToyDecoder(vocabulary=9)
    decoder.table[:, : BOS + 1] += 10
    found = search(decoder, SOURCES, [9] * 3, beam=5, n_best=5)
    assert all(token > EOS for sentence in found.ids for ids in sentence for token in ids)


def test_no_ngram_occurs_twice() -> None:
    decoder = ToyDecoder(vocabulary=6)
    decoder.table[:, EOS] -= 4
    free = search(decoder, SOURCES, [12] * 3, beam=4).ids
    found = search(decoder, SOURCES, [12] * 3, beam=4, no_repeat_ngram=2).ids

    def repeats(ids: list[int]) -> bool:
        pairs = list(pairwise(ids))
        return len(set(pairs)) < len(pairs)

    assert any(repeats(sentence[0]) for sentence in free)
    assert not any(repeats(sentence[0]) for sentence in found)


def test_forced_prefixes_stay_with_their_sentences() -> None:
    decoder = ToyDecoder(vocabulary=9)
    prefixes = torch.tensor([[5, 0, 0, 0], [0, 0, 0, 0], [8, 7, 8, 6]])
    found = beam_search(
        step_of(decoder),
        decoder.start(encoded(SOURCES)),
        torch.tensor([1, 6, 9]),
        settings=DecodingSettings(beam=5, n_best=5),
        constraints=[forced_prefix(Padded(prefixes, prefixes > 0))],
    )
    assert {tuple(ids[:1]) for ids in found.ids[0]} == {(5,)}
    assert {tuple(ids[:4]) for ids in found.ids[2]} == {(8, 7, 8, 6)}
    free = search(decoder, SOURCES, [1, 6, 9], beam=5, n_best=5)
    assert found.ids[1] == free.ids[1] and found.log_prob[1] == pytest.approx(free.log_prob[1], abs=1e-5)
    assert found.best()[2].log_prob == pytest.approx(log_prob(decoder, 42, found.best()[2].ids), abs=1e-5)


def test_a_hypothesis_with_no_way_on_ends_there() -> None:
    decoder = ToyDecoder(vocabulary=6)
    found = beam_search(
        step_of(decoder),
        decoder.start(encoded(SOURCES)),
        torch.tensor([9, 9, 9]),
        settings=DecodingSettings(beam=2, minimum_length=5),
        constraints=[forbid([3, 4, 5])],
    )
    assert found.ids == [[[]], [[]], [[]]]


def test_a_beam_wider_than_the_vocabulary_works() -> None:
    found = search(ToyDecoder(vocabulary=4), [3], [2], beam=50, n_best=50)
    assert sorted(found.ids[0]) == [[], [3], [3, 3]]


def test_no_sentences_give_no_hypotheses() -> None:
    assert len(search(ToyDecoder(), [3], [4]).best()) == 1
    decoder = ToyDecoder()
    state = decoder.start(encoded([3])).select(torch.tensor([], dtype=torch.long))
    none = torch.tensor([], dtype=torch.long)
    assert beam_search(step_of(decoder), state, none, settings=DecodingSettings()).best() == []


def test_all_of_the_beam_comes_back_where_coverage_will_rank_it() -> None:
    found = search(ToyDecoder(vocabulary=9), SOURCES, [9] * 3, beam=4, n_best=1, coverage_penalty=0.2)
    assert [len(sentence) for sentence in found.ids] == [4, 4, 4]


@pytest.mark.parametrize("size", [1, 3])
def test_probabilities_that_are_not_numbers_are_refused(size: int) -> None:
    def broken(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        return torch.full((len(tokens), 6), torch.nan), state

    with pytest.raises(RunError) as caught:
        beam_search(broken, DecoderState(None, None), torch.tensor([3]), settings=DecodingSettings(beam=size))
    assert "NaN probabilities" in str(caught.value) and "another checkpoint" in str(caught.value)


def test_exact_search_stops_before_the_limit() -> None:
    calls = 0

    def sure(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        nonlocal calls
        calls += 1
        likely = 4 if calls < 4 else EOS
        log_probs = torch.full((len(tokens), 6), -9.0)
        log_probs[:, likely] = -0.001
        return log_probs, state

    found = beam_search(sure, DecoderState(None, None), torch.tensor([100]), settings=DecodingSettings())
    assert found.ids == [[[4, 4, 4]]]
    assert calls == 4


def test_exact_search_stops_where_open_hypotheses_fall_behind_though_none_ends_there() -> None:
    taken = []

    def step(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        taken.append(1)
        logits = torch.zeros(len(tokens), 40)
        logits[:, EOS] = 3.0 if len(taken) == 1 else -50.0  # from the second position on EOS is not among the best
        return logits, state

    state = ToyDecoder().start(encoded([3]))
    settings = DecodingSettings(beam=2, length_normalisation="average")
    found = beam_search(step, state, torch.tensor([30]), settings=settings)
    assert found.best()[0].ids == []
    assert 2 < len(taken) < 25


def test_exact_search_waits_for_a_longer_translation_that_can_win() -> None:
    def patient(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        begun = torch.tensor([-50.0, -50.0, math.log(0.6), -50.0, math.log(0.4)])
        later = torch.tensor([-50.0, -50.0, -50.0, -50.0, 0.0])
        return torch.where(tokens == BOS, begun, later), state

    def translate(**settings: Any) -> list[list[list[int]]]:
        chosen, nothing = DecodingSettings(**settings), DecoderState(None, None)
        return beam_search(patient, nothing, torch.tensor([20]), settings=chosen, constraints=[end_after_ten]).ids

    def end_after_ten(prefix: Tensor, log_probs: Tensor, sentences: Tensor) -> Tensor:
        return (
            torch.where(torch.arange(5) == EOS, 0.0, -torch.inf).expand_as(log_probs)
            if prefix.shape[1] == 10
            else log_probs
        )

    assert translate(beam=2) == [[[4] * 10]]
    assert translate(beam=1) == [[[]]]


def test_a_search_may_begin_with_other_tokens() -> None:
    decoder, begin = ToyDecoder(), torch.tensor([4, 5, UNK])
    state = decoder.start(encoded(SOURCES))
    _, read = decoder(torch.full((3, 1), BOS), state)
    found = beam_search(
        step_of(decoder), read, torch.tensor([3, 3, 3]), settings=DecodingSettings(beam=WIDE), begin=begin
    )
    for source, token, one in zip(SOURCES, begin.tolist(), found.best(), strict=True):
        before, _ = decoder(torch.tensor([[BOS]]), decoder.start(encoded([source])))
        own = float(before.logits[0, -1].log_softmax(-1)[token])
        scores = {tuple(ids): log_prob(decoder, source, [token, *ids]) - own for ids in every_sequence(6, 3)}
        best = max(scores, key=lambda ids: scores[ids] / divisor("wu", 1.0, len(ids) + 1))
        assert tuple(one.ids) == best and one.log_prob == pytest.approx(scores[best], abs=1e-4)


@pytest.mark.parametrize(
    "options", [{"beam": 1}, {"beam": 4, "n_best": 4}, {"beam": 3, "minimum_length": 3, "n_best": 2}]
)
def test_the_log_probabilities_of_the_tokens_are_the_models_own(options: dict[str, Any]) -> None:
    decoder = ToyDecoder(vocabulary=9)
    for source, alternatives in zip(
        SOURCES, search(decoder, SOURCES, [3, 6, 9], **options).alternatives(), strict=True
    ):
        assert len(alternatives) == options.get("n_best", 1)
        for one in alternatives:
            output, _ = decoder(torch.tensor([[BOS, *one.ids]]), decoder.start(encoded([source])))
            own = output.logits[0].log_softmax(-1)[torch.arange(len(one.ids) + 1), [*one.ids, EOS]]
            assert one.token_log_probs == pytest.approx(own.tolist(), abs=1e-4)
            assert sum(one.token_log_probs) == pytest.approx(one.log_prob, abs=1e-5)


def test_the_log_probabilities_of_the_tokens_are_those_of_an_ensemble() -> None:
    decoders = [ToyDecoder(vocabulary=9, seed=seed) for seed in (1, 2)]
    state = EnsembleState(tuple(decoder.start(encoded(SOURCES)) for decoder in decoders))
    step = ensemble([step_of(decoder) for decoder in decoders])
    found = beam_search(step, state, torch.tensor([6, 6, 6]), settings=DecodingSettings(beam=3, n_best=3))
    for source, alternatives in zip(SOURCES, found.alternatives(), strict=True):
        for one in alternatives:
            target = torch.tensor([[BOS, *one.ids]])
            logits = [decoder(target, decoder.start(encoded([source])))[0].logits[0] for decoder in decoders]
            mixed = torch.stack([some.softmax(-1) for some in logits]).mean(0).log()
            own = mixed[torch.arange(len(one.ids) + 1), [*one.ids, EOS]].tolist()
            assert one.token_log_probs == pytest.approx(own, abs=1e-4)


@pytest.mark.parametrize("size", [1, 4])
def test_the_steps_of_a_search_end_in_what_the_search_returns(size: int) -> None:
    decoder, settings = ToyDecoder(vocabulary=9), DecodingSettings(beam=size, n_best=size)
    steps = search_steps(step_of(decoder), decoder.start(encoded(SOURCES)), torch.tensor([9, 2, 6]), settings=settings)
    completed: dict[int, list[Hypothesis]] = {}
    shown: dict[int, list[list[int]]] = {0: [], 1: [], 2: []}
    for number, one in enumerate(steps, 1):
        completed |= one.completed
        still_open = one.open_hypotheses()
        assert set(still_open).isdisjoint(completed) and set(still_open) | set(completed) == {0, 1, 2}
        for sentence, hypotheses in still_open.items():
            assert 1 <= len(hypotheses) <= size and {len(some.ids) for some in hypotheses} == {number}
            assert [some.log_prob for some in hypotheses] == sorted(
                (some.log_prob for some in hypotheses), reverse=True
            )
            shown[sentence].append(hypotheses[0].ids)
    best = search(decoder, SOURCES, [9, 2, 6], beam=size, n_best=size)
    assert [completed[sentence] for sentence in range(3)] == best.alternatives()
    if size == 1:  # what was shown of a greedy search is never taken back
        for sentence, prefixes in shown.items():
            assert all(best.ids[sentence][0][: len(prefix)] == prefix for prefix in prefixes)
            assert len(prefixes) == len(best.ids[sentence][0])


def test_a_search_can_be_cancelled() -> None:
    taken = 0

    def endless(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        nonlocal taken
        taken += 1
        return torch.tensor([-50.0, -50.0, -50.0, -1.0, -2.0]).expand(len(tokens), -1), state

    nothing: DecoderState[None, None] = DecoderState(None, None)
    steps = search_steps(endless, nothing, torch.tensor([10**6]), settings=DecodingSettings(beam=2))
    for _, one in zip(range(3), steps, strict=False):
        assert one.completed == {}
    steps.close()
    assert taken == 3
    assert list(steps) == []


@pytest.mark.parametrize("options", [{"beam": 4, "n_best": 4}, {"beam": 1, "minimum_length": 2, "no_repeat_ngram": 2}])
def test_special_tokens_may_have_other_ids(options: dict[str, Any]) -> None:
    special = SpecialIds(pad=8, bos=5, eos=0, unk=7, mask=5)
    own_id = torch.tensor([8, 5, 0, 7, 1, 2, 3, 4, 6])  # of the ids that Dragoman gives to the same tokens
    decoder, settings, limits = ToyDecoder(vocabulary=9), DecodingSettings(**options), torch.tensor([5, 2, 7])

    def other(tokens: Int[Tensor, "rows 1"], state: Any) -> tuple[Float[Tensor, "rows vocab"], Any]:
        logits, state = step_of(decoder)(own_id.argsort()[tokens], state)
        return logits[:, own_id.argsort()], state

    expected = beam_search(step_of(decoder), decoder.start(encoded(SOURCES)), limits, settings=settings)
    found = beam_search(other, decoder.start(encoded(SOURCES)), limits, settings=settings, special=special)
    assert found.ids == [[own_id[ids].tolist() for ids in sentence] for sentence in expected.ids]
    assert [pytest.approx(scores, abs=1e-5) for scores in expected.score] == found.score
