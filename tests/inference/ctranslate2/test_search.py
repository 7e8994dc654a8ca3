"""CTranslate2 searches with the meaning of Dragoman's settings."""

from pathlib import Path

import pytest
from tests.inference.ctranslate2.engines import SOURCES, engine_of, schooled, searched
from tests.laws.architectures import transformer

from dragoman.decoding import DecodingSettings
from dragoman.inference.ctranslate2 import search
from dragoman.inference.ctranslate2.search import Candidate, Engine, best_open, first_to_fill, obstacle
from dragoman.laws.examples import model_of
from dragoman.models.seq2seq import Seq2Seq

ARCHITECTURE = transformer(norm="post", positions="learned")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Seq2Seq, Engine]:
    """One model in both engines."""
    model = schooled(ARCHITECTURE)
    return model, engine_of(model, ARCHITECTURE, tmp_path_factory.mktemp("engine"))


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "greedy"},
        {"method": "greedy", "minimum_length": 4},
        {"method": "greedy", "no_repeat_ngram": 2},
        {"method": "greedy", "maximum_ratio": 0.5, "maximum_extra": 2},
        {"beam": 4},
        {"beam": 4, "stopping": "full"},
        {"beam": 3, "length_normalisation": "none"},
        {"beam": 3, "length_normalisation": "average", "length_penalty": 0.6},
        {"beam": 3, "length_penalty": 2.5, "stopping": "full"},
        {"beam": 2, "maximum_length": 3},
    ],
    ids=str,
)
def test_both_engines_find_the_same(both: tuple[Seq2Seq, Engine], settings: dict[str, object]):
    model, engine = both
    parsed = DecodingSettings.model_validate(settings)
    for own, other in zip(searched(model, SOURCES, parsed), engine.search(SOURCES, parsed), strict=True):
        assert other[0].ids == own[0].ids
        assert other[0].log_prob == pytest.approx(own[0].log_prob, abs=1e-4)
        assert other[0].score == pytest.approx(own[0].score, abs=1e-4)


def test_greedy_search_keeps_out_padding_though_the_model_likes_it(tmp_path: Path):
    architecture = transformer(cross_score="general")
    model = model_of(architecture)
    engine = engine_of(model, architecture, tmp_path)
    settings = DecodingSettings(method="greedy")
    for own, other in zip(searched(model, SOURCES, settings), engine.search(SOURCES, settings), strict=True):
        assert other[0].ids == own[0].ids
        assert other[0].log_prob == pytest.approx(own[0].log_prob, abs=1e-4)


def test_company_and_order_do_not_matter(both: tuple[Seq2Seq, Engine], monkeypatch: pytest.MonkeyPatch):
    _, engine = both
    settings = DecodingSettings(beam=3)
    together = engine.search(SOURCES, settings)
    assert [one[0].ids for one in engine.search(SOURCES[::-1], settings)] == [one[0].ids for one in together[::-1]]
    monkeypatch.setattr(search, "BATCH_TOKENS", 1)
    assert [one[0].ids for one in engine.search(SOURCES, settings)] == [one[0].ids for one in together]
    assert engine.search([], settings) == []


def test_batches_are_bounded_and_hold_like_lengths():
    tasks = [search.Task(row, ["a"] * length, 9, 9, complete=False) for row, length in enumerate((1, 900, 2, 900, 3))]
    found = [[len(task.pieces) for task in batch] for batch in search.batches_of(tasks)]
    assert found == [[900, 900], [3, 2, 1]]


def test_what_was_open_is_bounded():
    found = [Candidate([4, 5], -1.0, ended=False), Candidate([4], -3.0, ended=True)]
    assert best_open(found, 2) == -1.0
    assert best_open(found[1:], 2) == -3.0
    assert best_open(found[1:], 5) == float("inf")


def test_a_full_beam_holds_what_ended_first():
    found = [Candidate([4] * length, -1.0, ended=True) for length in (5, 1, 3, 3, 2)]
    assert [len(one.ids) for one in first_to_fill(found, 3)] == [1, 3, 3, 2]


def test_what_ctranslate2_has_not_is_named():
    assert obstacle(DecodingSettings()) is None
    assert obstacle(DecodingSettings(method="greedy", no_repeat_ngram=2)) is None
    for settings in ({"method": "sample"}, {"coverage_penalty": 0.1}, {"no_repeat_ngram": 3}, {"glossary": ["a.tsv"]}):
        named = obstacle(DecodingSettings.model_validate(settings))
        assert named is not None and next(iter(settings)) in named
