"""Tokens are recognised by themselves, or by their translations."""

import random

import numpy as np
import pytest

from dragoman.doctor import lexicon
from dragoman.doctor.lexicon import CLASSES, FOLD, NONE, NOWHERE, fold_of, learn_lexicon, same_tokens
from dragoman.doctor.tokens import Batch, read_batch

PAIRS = {
    "dog": "hund",
    "cat": "katze",
    "house": "haus",
    "tree": "baum",
    "bird": "vogel",
    "fish": "fisch",
    "sea": "meer",
}
LINES = 8 * FOLD


@pytest.fixture(scope="module")
def batch() -> Batch:
    """Two words a line, and their translations in the other order, all three lines further down."""
    chance = random.Random(1)
    rows = [chance.sample(sorted(PAIRS), 2) for _ in range(LINES)]
    targets = [f"{PAIRS[second]} {PAIRS[first]}" for first, second in rows]
    return read_batch([" ".join(row) for row in rows], [*targets[-3:], *targets[:-3]])


def translations(batch: Batch, learned: lexicon.Lexicon, fold: int) -> int:
    """Return how many of the words are recognised by their translations, which are those that occur as often."""
    counts = [np.bincount(side.types, minlength=len(batch.kinds)) for side in (batch.source, batch.target)]
    sources = np.flatnonzero(counts[0])
    partners = learned.partners[fold, sources]
    return int(((partners != NONE) & (counts[1][partners] == counts[0][sources])).sum())


def test_a_token_is_itself_where_the_target_has_it() -> None:
    batch = read_batch(["Anna 7", "Bob 8", "Carl 9"], ["anna 7", "x", "y"])
    found = same_tokens(batch)
    assert all(found.partners[0, one] == one for one in batch.source.types[:2])
    assert (found.partners[1, batch.source.types[2:]] == NONE).all()
    assert found.classes.min() >= 0 and found.classes.max() < CLASSES


def test_a_token_that_is_everywhere_says_nothing() -> None:
    batch = read_batch(["a b"] * 9, ["a c"] * 9)
    assert (same_tokens(batch).partners == NONE).all()


def test_translations_are_learned_from_the_lines_of_a_path(batch: Batch) -> None:
    path = np.where(np.arange(LINES) < LINES - 3, 3, NOWHERE)
    found = learn_lexicon(batch, path)
    assert translations(batch, found, 0) == translations(batch, found, 1) == len(PAIRS)


def test_little_is_learned_from_lines_that_do_not_fit(batch: Batch) -> None:
    found = learn_lexicon(batch, np.zeros(LINES, np.int64))
    assert translations(batch, found, 0) + translations(batch, found, 1) < len(PAIRS)
    nothing = learn_lexicon(batch, np.full(LINES, NOWHERE))
    assert np.array_equal(nothing.partners, same_tokens(batch).partners)


def test_a_fold_does_not_learn_from_its_own_lines(batch: Batch) -> None:
    path = np.where(fold_of(np.arange(LINES)) == 0, 3, NOWHERE)
    path[-3:] = NOWHERE
    found = learn_lexicon(batch, path)
    assert translations(batch, found, 0) == 0 and translations(batch, found, 1) == len(PAIRS)


def test_of_many_words_some_are_learned_from(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "CELLS", LINES)
    path = np.where(np.arange(LINES) < LINES - 3, 3, NOWHERE)
    assert translations(batch, learn_lexicon(batch, path), 0) >= len(PAIRS) - 1
