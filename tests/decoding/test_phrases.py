"""Search with phrases finds the best of all sequences that contain them, and says nothing else of a hypothesis."""

from itertools import product
from typing import Any

import pytest
import torch
from tests.decoding.toys import ToyDecoder, encoded, log_prob

from dragoman.decoding import DecodingSettings, Hypothesis, beam_search, forced_prefix, no_repeated_ngram, step_of
from dragoman.decoding.phrases import Candidate, Phrase, RequiredPhrases, allocate
from dragoman.interfaces import UNK, DecoderState, Padded

SOURCES = [3, 11, 42]
WIDE = 128


def search(
    decoder: ToyDecoder, sources: list[int], limits: list[int], phrases: list[list[Phrase]], **settings: Any
) -> list[list[Hypothesis]]:
    """Search for translations that contain phrases."""
    joined = settings.pop("joined", lambda before, after: False)
    rules = [*settings.pop("rules", ()), RequiredPhrases(phrases, joined=joined)]
    step, state = step_of(decoder), decoder.start(encoded(sources))
    chosen = DecodingSettings(**settings)
    return beam_search(step, state, torch.tensor(limits), settings=chosen, constraints=rules).alternatives()


def stands_in(way: tuple[int, ...], ids: list[int], joined=lambda before, after: False) -> bool:
    """Whether a way of a phrase is among ids, between tokens of other words."""
    for place in range(len(ids) - len(way) + 1):
        end = place + len(way)
        if tuple(ids[place:end]) == way:
            before = place == 0 or not joined(ids[place - 1], ids[place])
            after = end == len(ids) or not joined(ids[end - 1], ids[end])
            if before and after:
                return True
    return False


def fitting(
    phrases: list[Phrase], vocabulary: int, longest: int, joined=lambda before, after: False
) -> list[list[int]]:
    """All sequences up to a length that contain one way of each phrase."""
    every = (list(ids) for length in range(longest + 1) for ids in product(range(UNK, vocabulary), repeat=length))
    return [ids for ids in every if all(any(stands_in(way, ids, joined) for way in phrase) for phrase in phrases)]


@pytest.mark.parametrize(
    "phrases",
    [
        [((4, 5),)],
        [((3,),), ((4,),)],
        [((4, 4),)],
        [((4, 5), (3,))],
        [((4, 5, 4),)],
        [((4, 5),), ((5, 3),)],
        [((4,), (4, 5))],
        [],
    ],
)
@pytest.mark.parametrize("stopping", ["exact", "full"])
def test_a_wide_beam_finds_the_best_sequences_with_the_phrases(phrases: list[Phrase], stopping: str) -> None:
    decoder, limits = ToyDecoder(), [4, 3, 4]
    found = search(decoder, SOURCES, limits, [phrases] * 3, beam=WIDE, n_best=3, stopping=stopping)
    for source, limit, alternatives in zip(SOURCES, limits, found, strict=True):
        scored = [(log_prob(decoder, source, ids) / ((6 + len(ids)) / 6), ids) for ids in fitting(phrases, 6, limit)]
        scored = sorted(scored, reverse=True)[:3]
        assert [one.ids for one in alternatives][: len(scored)] == [ids for _, ids in scored]
        assert [one.score for one in alternatives][: len(scored)] == pytest.approx(
            [score for score, _ in scored], abs=1e-5
        )


@pytest.mark.parametrize("phrases", [[((4, 5),)], [((3,), (4, 5))], [((4,),), ((5,),)]])
def test_a_phrase_stands_between_other_words(phrases: list[Phrase]) -> None:
    def joined(before: int, after: int) -> bool:
        return after == 5 and before in (3, 5)

    decoder = ToyDecoder()
    found = search(decoder, SOURCES, [4] * 3, [phrases] * 3, beam=WIDE, joined=joined)
    for source, alternatives in zip(SOURCES, found, strict=True):
        every = fitting(phrases, 6, 4, joined)
        best = max(every, key=lambda ids: log_prob(decoder, source, ids) / ((6 + len(ids)) / 6))
        assert alternatives[0].ids == best


@pytest.mark.parametrize("seed", range(5))
def test_a_small_beam_writes_every_phrase_and_keeps_the_models_own_scores(seed: int) -> None:
    decoder = ToyDecoder(vocabulary=20, seed=seed)
    phrases = [[((7, 8, 9),), ((10,), (11, 12))], [], [((13, 14),)]]
    found = search(decoder, SOURCES, [12] * 3, phrases, beam=4, n_best=2)
    for source, wanted, alternatives in zip(SOURCES, phrases, found, strict=True):
        assert alternatives
        for one in alternatives:
            assert all(any(stands_in(way, one.ids) for way in phrase) for phrase in wanted)
            assert one.log_prob == pytest.approx(log_prob(decoder, source, one.ids), abs=1e-4)


def test_sentences_alone_and_together_give_the_same() -> None:
    decoder = ToyDecoder(vocabulary=12)
    phrases = {3: [((5, 6),)], 11: [], 42: [((7,),), ((8, 9), (10,))], 7: [((4,),)], 99: [((11, 4, 5),)]}
    limits = [6, 4, 9, 3, 8]
    together = search(decoder, [*phrases], limits, [*phrases.values()], beam=5, n_best=2)
    alone = [
        search(decoder, [source], [limit], [wanted], beam=5, n_best=2)[0]
        for (source, wanted), limit in zip(phrases.items(), limits, strict=True)
    ]
    assert [[one.ids for one in some] for some in together] == [[one.ids for one in some] for some in alone]


def test_without_phrases_the_beam_is_that_of_ordinary_search() -> None:
    decoder = ToyDecoder(vocabulary=9)
    found = search(decoder, SOURCES, [9] * 3, [[]] * 3, beam=4, n_best=4)
    state = decoder.start(encoded(SOURCES))
    plain = beam_search(
        step_of(decoder), state, torch.tensor([9] * 3), settings=DecodingSettings(beam=4, n_best=4)
    ).alternatives()
    assert [[one.ids for one in some] for some in found] == [[one.ids for one in some] for some in plain]


def test_a_way_that_would_go_on_with_the_last_word_does_not_stand_in_the_way_of_another() -> None:
    """After 3, token 5 would be within its word, and is more probable than 4, which alone is the phrase there."""
    logits = torch.zeros(20)
    logits[[3, 4, 5]] = torch.tensor([2.0, -9.0, 1.0])
    prefix = torch.tensor([[3]])
    rules = [
        forced_prefix(Padded(prefix, prefix > 0)),
        RequiredPhrases([[((5,), (4,))]], joined=lambda _, after: after == 5),
    ]
    found = beam_search(
        lambda tokens, state: (logits.expand(len(tokens), -1), state),
        DecoderState(None, None),
        torch.tensor([6]),
        settings=DecodingSettings(beam=2),
        constraints=rules,
    )
    assert 4 in found.best()[0].ids


@pytest.mark.parametrize("beam", [1, 2, 4, 8])
@pytest.mark.parametrize(
    ("phrases", "within_a_word"),
    [
        ([((7, 6, 5),), ((7, 5),)], ()),
        ([((4, 6),), ((4, 5),)], ()),
        ([((7, 5),), ((7, 7, 6), (4, 6, 7))], ()),
        ([((6,), (4, 6)), ((7,), (6, 5, 4))], ()),
        ([((4, 4),), ((4, 5),), ((7,),)], ((4, 5), (6, 5))),
        ([((6, 7), (7,)), ((6, 5),), ((6,),)], ((6, 5),)),
    ],
)
def test_phrases_that_begin_alike_are_all_written(phrases: list[Phrase], within_a_word: Any, beam: int) -> None:
    """Tokens of phrases are improbable, so a hypothesis that writes fewer of them is always the more probable one."""
    logits = torch.zeros(14)
    logits[4:8] = torch.tensor([-7.0, -8.0, -6.0, -9.0])

    def joined(before: int, after: int) -> bool:
        return (before, after) in within_a_word

    found = beam_search(
        lambda tokens, state: (logits.expand(len(tokens), -1), state),
        DecoderState(None, None),
        torch.tensor([14]),
        settings=DecodingSettings(beam=beam),
        constraints=[RequiredPhrases([phrases], joined=joined)],
    )
    ids = found.best()[0].ids
    assert all(any(stands_in(way, ids, joined) for way in phrase) for phrase in phrases)


def test_a_phrase_that_does_not_fit_stays_out() -> None:
    ((best, *_),) = search(ToyDecoder(), [3], [2], [[((4, 5, 4),)]], beam=4)
    assert len(best.ids) == 2


def test_other_rules_hold_too() -> None:
    found = search(ToyDecoder(), SOURCES, [6] * 3, [[((4, 5),), ((5, 3),)]] * 3, beam=8, rules=[no_repeated_ngram(1)])
    for best, *_ in found:
        assert len(set(best.ids)) == len(best.ids)


def test_banks_share_the_beam() -> None:
    some = [Candidate(-float(n), 0, n, left) for n, left in enumerate([2, 2, 2, 2, 1, 0, 0])]
    assert [one.token for one in allocate(some, 3)] == [5, 4, 0]
    assert [one.token for one in allocate(some, 5)] == [5, 4, 0, 1, 2]
    assert [one.token for one in allocate(some, 2)] == [5, 4]
    assert allocate([], 2) == []
