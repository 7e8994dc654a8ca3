"""From evidence to features."""

import numpy as np
import pytest

from dragoman.inference.confidence.evidence import Evidence
from dragoman.inference.confidence.features import contrast, omitted, sentence_features, unsupported, word_features

LANGUAGES = ("de", "en")


def evidence(source: str, target: str, **parts: object) -> Evidence:
    """Make evidence in which each word is a token, and all is certain."""
    words = target.split()
    count = len(words) + 1
    given = {"log_probs": np.full(count, -0.1), "entropies": np.full(count, 0.2)} | parts
    return Evidence(tuple(source.split()), tuple(words), (*range(len(words)), -1), **given)  # type: ignore[arg-type]


def test_features_of_passes_that_were_not_made_are_absent() -> None:
    free = sentence_features(evidence("das Haus", "the house"), LANGUAGES)
    assert not {"support", "attention entropy", "dropout", "agreement", "reverse"} & set(free)
    whole = sentence_features(
        evidence(
            "das Haus",
            "the house",
            erased=np.ones((2, 3)),
            emptied=np.array([1.0, 2.0, 6.0]),
            attention=np.full((3, 2), 0.25),
            dropped=np.array([-1.0, -5.0]),
            agreement=0.5,
            reverse=-2.0,
        ),
        LANGUAGES,
    )
    assert set(free) < set(whole)
    assert [whole[name] for name in ("dropout", "dropout spread", "agreement", "reverse")] == [-3.0, 2.0, 0.5, -2.0]
    assert whole["whole source"] == pytest.approx(3.0)
    assert whole["attention elsewhere"] == pytest.approx(0.5)


def test_summaries_of_log_probabilities_are_their_definitions() -> None:
    log_probs = np.array([-0.5, -4.0, -0.1, -0.2, -1.0, -0.2])
    found = sentence_features(evidence("a b c", "a b c d e", log_probs=log_probs), LANGUAGES)
    assert found["log-probability"] == pytest.approx(-1.0)
    assert found["worst fifth"] == pytest.approx((-4.0 - 1.0) / 2)
    assert found["deviation"] == pytest.approx(np.sqrt(((log_probs + 1) ** 2).mean()))


def test_names_and_numbers_out_of_nowhere_are_counted() -> None:
    found = sentence_features(evidence("Er wurde geboren.", "In 2369 , he met Fretwell ."), LANGUAGES)
    assert found["numbers added"] == pytest.approx(1 / 7) and found["numbers lost"] == 0
    assert found["names added"] == pytest.approx(1 / 7)
    lost = sentence_features(evidence("In 2369 , he met Fretwell .", "Er traf ihn ."), ("en", "de"))
    assert lost["numbers lost"] == pytest.approx(1 / 7) and lost["numbers added"] == 0
    nouns = sentence_features(evidence("he saw houses", "er sah Häuser"), ("en", "de"))
    assert nouns["names added"] == 0


def test_an_omission_is_the_stretch_that_matters_least() -> None:
    gains = np.array([[5.0], [0.0], [np.nan], [-0.5], [0.5], [9.0], [0.2]])
    score, words = omitted(evidence("a b , c d e f", "x", erased=np.column_stack([gains, np.zeros(7)])))
    assert score == pytest.approx(1.0 + 1.5 + 0.5)
    assert words == [1, 3, 4]
    assert omitted(evidence("a", "x", erased=np.full((1, 2), 3.0))) == (0.0, [])


def test_a_word_that_is_needed_counts_against_an_omission_only_so_much() -> None:
    gains = np.array([0.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0])
    found = omitted(evidence("a b c d e f g", "x", erased=np.column_stack([gains, np.zeros(7)])))
    assert found == (3 - 2 + 3, [0, 1, 2, 3, 4, 5, 6])


def test_features_of_attention_are_their_definitions() -> None:
    weights = np.array([[0.5, 0.25, 0.0], [0.1, 0.8, 0.05]])
    found = sentence_features(evidence("a b c", "x", attention=weights), LANGUAGES)
    seen = weights[weights > 0]
    assert found["attention elsewhere"] == pytest.approx((0.25 + 0.05) / 2)
    assert found["attention entropy"] == pytest.approx(-(seen * np.log(seen)).sum() / 2)
    assert found["unattended"] == pytest.approx(1 / 3), (
        "0.05 is less than a fifth of what each of three words would get of 2"
    )


def test_features_of_erasure_are_their_definitions() -> None:
    erased = np.array([[2.0, 1.0], [np.nan, np.nan], [0.05, 0.0], [-1.0, 0.0]])
    found = sentence_features(evidence("a - b c", "x", erased=erased), LANGUAGES)
    assert (found["support"], found["least support"], found["unsupported"]) == (1.5, 1.0, 0.0)
    assert found["source gain"] == pytest.approx((np.log(4) + np.log(1.05)) / 3)
    assert found["useless source"] == pytest.approx(2 / 3)
    assert found["omission"] == pytest.approx(0.95 + 2.0) and found["whole source"] == 0.0


def test_tokens_without_support_come_from_nowhere() -> None:
    erased = np.array([[0.0, 2.0, 0.0, 5.0], [-1.0, 0.0, 0.05, 0.0]])
    assert unsupported(evidence("a b", "x y z", erased=erased)) == pytest.approx(2 / 3)
    assert unsupported(evidence("-", "x", erased=np.full((1, 2), np.nan))) == 1.0
    assert unsupported(evidence("♪", "♪", erased=np.full((1, 2), np.nan))) == 0.0


def test_words_are_judged_by_their_own_tokens() -> None:
    log_probs = np.array([-0.1, -3.0, -0.2, -0.1])
    one = Evidence(("a",), ("xy", "z"), (0, 0, 1, -1), log_probs, -log_probs, np.array([[0.0, 1.0, -2.0, 0.0]]))
    first, second = word_features(one)
    assert (first["log-probability"], first["least probable token"], first["entropy"]) == (-1.55, -3.0, 3.0)
    assert first["support"] == pytest.approx(np.log(2)) and second["support"] == 0
    assert (first["next word"], second["next word"]) == (-0.2, -0.1)


def test_contrast_is_the_share_of_surprise_that_the_source_explains() -> None:
    def share(own: float, *others: float, tokens: int = 100) -> float:
        return contrast(np.full(tokens, np.log(own)), np.log(np.full((tokens, len(others)), others)).T)

    assert share(0.1, 0.1, 0.1) == pytest.approx(0.0)
    assert share(1.0, 0.01) == pytest.approx(1.0, abs=0.01)
    assert share(0.1, 0.01) == pytest.approx(0.5, abs=0.01)
    assert share(0.01, 0.1) == pytest.approx(-1.0, abs=0.01)
    assert share(0.1, 0.02, 1e-30) == pytest.approx(share(0.1, 0.01)), "the mixture of the other sources counts"
    usual, rare = share(0.6, 0.5), share(0.006, 0.005)
    assert usual > 4 * rare, "the same gain explains more of a translation of usual words"
    assert abs(share(0.9, 0.99, tokens=1)) < 0.1, "no ratio of small numbers"
