"""Lengths and ratios."""

import numpy as np
import pytest
from tests.doctor.conftest import Examined, good

from dragoman.data.corpus import Pair
from dragoman.data.settings import FilterSettings
from dragoman.doctor.chunk import Chunk
from dragoman.doctor.lengths import BINS, STEP, WORDS, Shape
from dragoman.doctor.sizes import Limits


def test_a_translation_that_is_much_longer_is_found(examined: Examined) -> None:
    pairs = good(500)
    pairs[9] = (pairs[9][0], " ".join(target for _, target in pairs[20:26]))
    pairs[90] = (" ".join(source for source, _ in pairs[30:36]), pairs[90][1])
    (found,) = [one for one in examined(pairs) if one.name == "length-ratio"]
    assert (found.line, found.count, found.severity) == (10, 2, "note")


def test_a_clause_on_the_wrong_line_is_found(examined: Examined) -> None:
    pairs = good(500)
    first, rest = pairs[9][1][:18], pairs[9][1][18:]
    pairs[9], pairs[10] = (pairs[9][0], first), (pairs[10][0], f"{rest} {pairs[10][1]}")
    (found,) = [one for one in examined(pairs) if one.name == "spilled"]
    assert (found.line, found.count) == (10, 1)


def test_a_corpus_in_the_order_of_lengths_is_found(examined: Examined) -> None:
    pairs = sorted(good(600), key=lambda pair: len(pair[0]))
    (found,) = examined(pairs)
    assert (found.name, found.line) == ("sorted", None)
    assert found.sentence.endswith(
        "train.one is sorted by length; shuffle it before you take a part of it for dev or test; training shuffles by itself"
    )


@pytest.mark.parametrize(("validated", "severity"), [(200, "warning"), (600, "note"), (None, "note")])
def test_validation_on_the_shortest_pairs_alone_is_a_warning(
    examined: Examined, validated: int | None, severity: str
) -> None:
    pairs = sorted(good(600, 3000), key=lambda pair: len(pair[0]))
    (found,) = examined(good(600), pairs, limits=Limits(FilterSettings(), validated=validated))
    assert (found.name, found.severity) == ("sorted", severity)
    if severity == "warning":
        assert "dev.one is sorted by length, and validation takes the first 200 of its 600 pairs" in found.sentence
        assert "`training.validate_sentences`" in found.advice


def test_the_shape_of_a_corpus_is_its_histograms() -> None:
    shape = Shape()
    shape.add(Chunk([Pair("a b c", "x", ""), Pair("", "y z", ""), Pair("w " * 500, "w " * 500, "")], 0))
    assert np.flatnonzero(shape.words[0]).tolist() == [0, 3, WORDS - 1]
    assert np.flatnonzero(shape.words[1]).tolist() == [1, 2, WORDS - 1]
    assert shape.ratios.sum() == 2 and shape.ratios[BINS // 2] == 1
    assert shape.quantile(1.0) == pytest.approx(0.0) and shape.quantile(0.1) < 0 and shape.spread >= STEP
    assert sum(shape.table()["log_ratios"]) == 2
