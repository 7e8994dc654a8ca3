"""Subword regularisation."""

import itertools
import math
import random
from collections import Counter

import pytest

from dragoman.text import sampling
from dragoman.text.pieces import SentencePiece, learn_pieces
from dragoman.text.sampling import BpeDropout, UnigramSampler
from dragoman.text.settings import SentencePieceSettings
from dragoman.text.vocabulary import SPECIAL, Vocabulary

TEXT = [
    "the cat sat on the mat",
    "a dog ate my homework",
    "con mèo ngồi trên chiếc thảm",
    "the dogs sat and the cats ate 12 times",
] * 5


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> SentencePiece:
    return learn_pieces(TEXT, SentencePieceSettings(algorithm=request.param, size=45 if request.param == "bpe" else 36))


def test_a_rate_of_nothing_gives_the_usual_cut(tokenizer: SentencePiece) -> None:
    for text in (*TEXT, "the 世界 x世y"):
        assert tokenizer.sample(text, random.Random(1), 0.0) == tokenizer.encode(text)


def test_a_rate_of_next_to_nothing_gives_the_usual_cut(tokenizer: SentencePiece) -> None:
    for text in (*TEXT, "the 世界 x世y", "catmat thedog homethe"):
        assert tokenizer.sample(text, random.Random(1), 1e-3 if tokenizer.algorithm == "unigram" else 1e-300) == (
            tokenizer.encode(text)
        )


@pytest.mark.parametrize("rate", [0.1, 0.9])
def test_samples_spell_the_same_text(tokenizer: SentencePiece, rate: float) -> None:
    rng = random.Random(1)
    for text in (*TEXT, "the 世界 x世y"):
        usual = [tokenizer.vocabulary.piece(index) for index in tokenizer.encode(text)]
        sampled = [tokenizer.vocabulary.piece(index) for index in tokenizer.sample(text, rng, rate)]
        assert "".join(sampled) == "".join(usual)


def test_samples_are_a_function_of_the_random_numbers(tokenizer: SentencePiece) -> None:
    again = SentencePiece(tokenizer.model, tokenizer.algorithm)
    rng = random.Random(1)
    first = [tokenizer.sample(text, rng, 0.5) for text in TEXT * 4]
    state = rng.getstate()
    rng = random.Random(1)
    assert [again.sample(text, rng, 0.5) for text in TEXT * 4] == first
    assert rng.getstate() == state


def test_samples_differ(tokenizer: SentencePiece) -> None:
    rng = random.Random(1)
    rate = 0.5 if tokenizer.algorithm == "bpe" else 50.0
    assert len({tuple(tokenizer.sample(TEXT[0], rng, rate)) for _ in range(20)}) > 10


def test_forgetting_changes_no_sample(tokenizer: SentencePiece, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [tokenizer.sample(text, random.Random(1), 0.5) for text in TEXT]
    monkeypatch.setattr(sampling, "CACHED_TOKENS", 32)
    forgetful = SentencePiece(tokenizer.model, tokenizer.algorithm)
    assert [forgetful.sample(text, random.Random(1), 0.5) for text in TEXT] == expected


def test_what_is_kept_of_long_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "CACHED_TOKENS", 500)
    vocabulary = Vocabulary([*"abc", "ab", "bc", "ca"])
    sampler = sampling.UnigramSampler(vocabulary, [-1.0] * len(vocabulary))
    chance = random.Random(1)
    for _ in range(50):
        sampler("".join(chance.choices("abc", k=60)), chance, 1.0)
        assert sum(len(ends) for word in sampler._ends.values() for ends in word) <= 500


def dropout_distribution(pieces: tuple[str, ...], ranks: dict[str, int], rate: float) -> Counter[tuple[str, ...]]:
    """Compute the chance of each end of Provilkov et al.'s algorithm 1, going through all subsets of merges kept."""
    merges = [at for at, pair in enumerate(itertools.pairwise(pieces)) if "".join(pair) in ranks]
    chances: Counter[tuple[str, ...]] = Counter()
    for kept in itertools.product((False, True), repeat=len(merges)):
        chance = math.prod(1 - rate if keep else rate for keep in kept)
        left = [at for at, keep in zip(merges, kept, strict=True) if keep]
        if not left:
            chances[pieces] += chance  # type: ignore[assignment]
            continue
        best = min(left, key=lambda at: (ranks[pieces[at] + pieces[at + 1]], at))
        merged = (*pieces[:best], pieces[best] + pieces[best + 1], *pieces[best + 2 :])
        for end, share in dropout_distribution(merged, ranks, rate).items():
            chances[end] += chance * share  # type: ignore[assignment]
    return chances


def test_byte_pairs_are_dropped_as_the_paper_says() -> None:
    merges = ["ab", "bc", "abc", "cab"]
    vocabulary = Vocabulary([*merges, "a", "b", "c"])
    expected = dropout_distribution(tuple("abcab"), {piece: rank for rank, piece in enumerate(merges)}, 0.3)
    sampler, rng, count = BpeDropout(vocabulary), random.Random(1), 40_000
    seen = Counter(tuple(vocabulary.piece(i) for i in sampler("abcab", rng, 0.3)) for _ in range(count))
    assert sum(expected.values()) == pytest.approx(1)
    assert set(seen) <= set(expected)
    for cut, chance in expected.items():
        assert seen[cut] / count == pytest.approx(chance, abs=4 * math.sqrt(chance / count) + 1e-9)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_unigram_cuts_come_as_often_as_their_probability_says(temperature: float) -> None:
    scores = {"a": -2.0, "b": -2.5, "ab": -1.5, "ba": -3.0, "aba": -4.0}
    vocabulary = Vocabulary(list(scores))
    weights: dict[tuple[str, ...], float] = {}
    for cuts in itertools.product((False, True), repeat=3):
        edges = [0, *(at for at, is_cut in enumerate(cuts, 1) if is_cut), 4]
        pieces = tuple("abab"[start:end] for start, end in itertools.pairwise(edges))
        if all(piece in scores for piece in pieces):
            weights[pieces] = math.exp(sum(scores[piece] for piece in pieces) / temperature)
    sampler, rng, count = UnigramSampler(vocabulary, [0.0] * 4 + list(scores.values())), random.Random(1), 40_000
    seen = Counter(tuple(vocabulary.piece(i) for i in sampler("abab", rng, temperature)) for _ in range(count))
    assert set(seen) <= set(weights)
    for pieces, weight in weights.items():
        chance = weight / sum(weights.values())
        assert seen[pieces] / count == pytest.approx(chance, abs=4 * math.sqrt(chance / count) + 1e-9)


@pytest.mark.parametrize("name", SPECIAL)
def test_text_that_spells_a_special_token_is_text(name: str) -> None:
    pieces = ["▁", *name, name[:-1], name[1:]]
    vocabulary = Vocabulary(list(dict.fromkeys(pieces)))
    cuts = (BpeDropout(vocabulary), UnigramSampler(vocabulary, [-1.0] * len(vocabulary)))
    for cut, rate in itertools.product(cuts, (0.1, 0.9)):
        for seed in range(20):
            assert not set(cut("▁" + name, random.Random(seed), rate)) & set(vocabulary.special.all)
