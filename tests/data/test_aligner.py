"""The statistical word aligner."""

import random
from itertools import product

import numpy as np
import pytest

from dragoman.data import aligner
from dragoman.data.aligner import learn_aligner
from dragoman.text.links import Links

LEXICON = dict(zip("abcdefghijklmnop", "ABCDEFGHIJKLMNOP", strict=True))


def corpus(count: int, seed: int = 1, *, turned: bool = False) -> list[tuple[str, str]]:
    """Return sentences and their word-by-word translations, which may be in the opposite order."""
    chance = random.Random(seed)
    sources = [chance.sample(sorted(LEXICON), chance.randint(2, 5)) for _ in range(count)]
    targets = [[LEXICON[word] + "x" for word in source] for source in sources]
    return [
        (" ".join(source), " ".join(reversed(target) if turned else target))
        for source, target in zip(sources, targets, strict=True)
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_it_finds_the_translation_of_each_word_wherever_it_is(turned: bool) -> None:
    pairs = corpus(200, turned=turned)
    found = learn_aligner(pairs)
    right = predicted = 0
    for source, target in pairs:
        count = len(source.split())
        gold = {(count - 1 - j if turned else j, j) for j in range(count)}
        links = found.links(source, target).sure
        right, predicted = right + len(gold & links), predicted + len(links)
    words = sum(len(source.split()) for source, _ in pairs)
    assert right / predicted > 0.95 and right / words > 0.95


def test_what_was_never_seen_has_no_link() -> None:
    found = learn_aligner(corpus(100))
    assert found.links("z a", "Ax Zx").sure == {(1, 0)}
    assert found.links("", "Ax") == found.links("a", " ") == Links(frozenset())
    assert learn_aligner([]).links("a", "Ax") == Links(frozenset())


def test_case_and_punctuation_do_not_hide_a_word() -> None:
    found = learn_aligner(corpus(100))
    assert found.links('"B, a', "ax bX!").sure == {(1, 0), (0, 1)}


def test_words_are_counted_between_spaces_as_links_of_corpora_are() -> None:
    assert learn_aligner(corpus(100)).links("a  b", "Ax   Bx").sure == {(0, 0), (1, 1)}


def plain_probabilities(pairs: list[tuple[str, str]], strength: float) -> dict[tuple[str, str], float]:
    """Return p(target word | source word) by the equations of Dyer et al. 2013, section 2, in plain loops."""
    split = [(source.split(), target.lower().split()) for source, target in pairs]
    tokens = [word for _, target in split for word in target]
    table = {pair: 1 / len(set(tokens)) for source, target in split for pair in product(source, target)}
    for diagonal in [0.0] * aligner.ROUNDS[0] + [strength] * aligner.ROUNDS[1]:
        counts = dict.fromkeys(table, 0.0)
        for source, target in split:
            for j, word in enumerate(target):
                weights = [np.exp(-diagonal * abs(i / len(source) - j / len(target))) for i in range(len(source))]
                joint = [
                    (1 - aligner.NULL) * weight / sum(weights) * table[given, word]
                    for given, weight in zip(source, weights, strict=True)
                ]
                total = sum(joint) + aligner.NULL * tokens.count(word) / len(tokens)
                for given, share in zip(source, joint, strict=True):
                    counts[given, word] += share / total
        totals = {given: sum(count for (one, _), count in counts.items() if one == given) for given, _ in counts}
        table = {(given, word): count / (totals[given] + aligner.ADDED) for (given, word), count in counts.items()}
    return table


def test_probabilities_follow_the_equations() -> None:
    pairs = corpus(30)
    found = learn_aligner(pairs)
    sources, targets = ({number: word for word, number in words.items()} for words in found.words)
    learned = {
        (sources[int(key) // len(targets)], targets[int(key) % len(targets)]): value
        for key, value in zip(found.keys, found.probabilities.tolist(), strict=True)
    }
    assert learned == pytest.approx(plain_probabilities(pairs, found.strength))


def test_the_order_of_words_decides_how_strong_the_diagonal_is() -> None:
    assert learn_aligner(corpus(200)).strength > 2 > learn_aligner(corpus(200, turned=True)).strength


def test_a_large_corpus_is_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = corpus(300)
    monkeypatch.setattr(aligner, "CELLS", 500)
    words: tuple[dict[str, int], dict[str, int]] = ({}, {})
    kept = aligner._numbered(iter(pairs), words)
    every = 300 / len(kept)
    assert 2 < every < 32 and sum(len(source) * len(target) for source, target in kept) <= 500
    first = [words[0][word] for word in pairs[round(every)][0].split()]
    assert kept[1][0].tolist() == first
    found = learn_aligner(pairs).links("a b c", "Ax Bx Cx")
    assert found.sure == {(0, 0), (1, 1), (2, 2)}
