"""Pairs that belong together have more evidence than others."""

import numpy as np
import pytest
from tests.doctor.parallel import parallel

from dragoman.doctor.evidence import BAND, MOST, ODD, REACH, Counts, Evidence, weigh
from dragoman.doctor.lexicon import CLASSES, NOWHERE, learn_lexicon, same_tokens
from dragoman.doctor.tokens import read_batch

TEXT = parallel(1500)
AT_ONE = np.where(np.arange(1499) < 1499, 1, 0)


@pytest.fixture(scope="module")
def shifted() -> Evidence:
    """A text whose source lacks its first line."""
    batch = read_batch(TEXT.sources[1:], TEXT.targets)
    return Evidence(batch, learn_lexicon(batch, AT_ONE))


def test_counts_show_the_offset(shifted: Evidence) -> None:
    counts = shifted.counts(np.zeros(1499, np.int64))
    information = {offset: weigh(counts, offset).information for offset in range(-BAND, BAND + 1)}
    assert max(information, key=lambda offset: information[offset]) == 1
    assert information[1] > 10 * max(nats for offset, nats in information.items() if offset != 1)
    assert counts.matches.sum(0).argmax() == counts.lengths.shape[1] // 2 + 1


def test_scores_are_highest_at_the_offset_of_the_path(shifted: Evidence) -> None:
    weights = shifted.tempered(weigh(shifted.counts(AT_ONE)), AT_ONE)
    scores = shifted.scores(0, 1499, 0, weights=weights)
    assert scores.shape == (1499, 2 * BAND + 1)
    assert (scores.argmax(1) == BAND + 1).mean() > 0.9
    assert scores[:, BAND + 1].mean() > 1 and scores[:, :BAND].mean() < 0
    assert scores.max() <= MOST and scores.min() >= np.log(ODD)
    some = shifted.scores(700, 710, 1, weights=weights, reach=0)
    assert np.allclose(some[:, 0], scores[700:710, BAND + 1])


def test_lines_of_chance_are_taken_for_partners_as_seldom_as_the_scores_say(shifted: Evidence) -> None:
    weights = shifted.tempered(weigh(shifted.counts(AT_ONE)), AT_ONE)
    scores = shifted.scores(0, 1499, 1, weights=weights, reach=REACH)
    assert np.exp(scores[REACH:-REACH, np.abs(np.arange(-REACH, REACH + 1)) > BAND]).mean() < 1.1


def test_a_line_beside_the_text_is_no_partner(shifted: Evidence) -> None:
    weights = weigh(shifted.counts(AT_ONE))
    assert shifted.scores(0, 1, -3, weights=weights, reach=0)[0, 0] == pytest.approx(np.log(ODD))
    assert shifted.scores(1498, 1499, 2, weights=weights, reach=0)[0, 0] == pytest.approx(np.log(ODD))


def test_nothing_seen_weighs_nothing() -> None:
    width = 2 * REACH + 1
    nothing = [np.zeros(shape, np.int64) for shape in (2 * CLASSES, (2 * CLASSES, width), (410, width))]
    weights = weigh(Counts(*nothing))
    assert np.allclose(weights.match, 0) and np.allclose(weights.miss, 0) and np.allclose(weights.length[:-1], 0)


def test_lines_without_relation_weigh_next_to_nothing() -> None:
    batch = read_batch(TEXT.sources, parallel(1500, seed=9).targets)
    path = np.zeros(1500, np.int64)
    evidence = Evidence(batch, learn_lexicon(batch, path))
    scores = evidence.scores(0, 1500, 0, weights=weigh(evidence.counts(path)), reach=0)
    assert abs(scores.mean()) < 0.1
    assert not evidence.counts(np.full(1500, NOWHERE)).occurrences.any()


def test_rare_tokens_vote_for_a_distance() -> None:
    batch = read_batch(TEXT.sources[400:], TEXT.targets, 0)
    evidence = Evidence(batch, same_tokens(batch))
    path = np.full(1100, 400)
    weights = weigh(evidence.counts(path))
    assert evidence.votes(300, 600, weights) == 400
    assert evidence.votes(300, 300, weights) is None


def test_an_origin_is_no_offset() -> None:
    batch = read_batch(TEXT.sources[100:], TEXT.targets, 100)
    evidence = Evidence(batch, same_tokens(batch))
    weights = weigh(evidence.counts(np.zeros(1400, np.int64)))
    assert evidence.scores(0, 1400, 0, weights=weights).mean(0).argmax() == BAND
    assert evidence.votes(0, 1400, weights) == 0
