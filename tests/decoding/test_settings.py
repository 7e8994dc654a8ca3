"""Settings of decoding, and what they refuse."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.decoding import DecodingSettings
from dragoman.decoding.settings import LARGEST_PENALTY, MOST_TOKENS
from dragoman.errors import SettingsError
from dragoman.settings import parse


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"beam": 0}, "decoding: `beam` is 0, but it must be at least 1"),
        ({"method": "bean"}, "decoding: `method` cannot be `bean`; did you mean `beam`?"),
        ({"beams": 3}, "decoding has no setting `beams`; did you mean `beam`?"),
        ({"n_best": 6}, "decoding: `n_best` is 6, but only 5 hypotheses are kept; raise `beam`"),
        (
            {"method": "greedy", "n_best": 2},
            "decoding: `n_best` is 2, but greedy search keeps one hypothesis; set `method: beam`",
        ),
        (
            {"minimum_length": 9, "maximum_length": 5},
            "decoding: `minimum_length` is 9, above `maximum_length` 5; lower it",
        ),
        ({"top_p": 1.5}, "decoding: `top_p` is 1.5, but it must be at most 1"),
        (
            {"rerank": ["runs/other"], "mbr_samples": 4},
            "decoding: `rerank` and `mbr_samples` both choose among the hypotheses; set `rerank: []` or `mbr_samples: 0`",
        ),
        (
            {"rerank": ["runs/other"], "coverage_penalty": 0.2},
            "decoding: `rerank` and `coverage_penalty` both choose among the hypotheses; set `rerank: []` or "
            "`coverage_penalty: 0`",
        ),
        ({"temperature": 0}, "decoding: `temperature` is 0, but it must be above 0"),
        ({"length_penalty": 5000}, "decoding: `length_penalty` is 5000, but it must be at most 10"),
    ],
)
def test_settings_that_do_not_fit_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(DecodingSettings, table, "decoding")
    assert str(caught.value) == message


def test_limits_grow_with_the_source_up_to_the_maximum() -> None:
    settings = DecodingSettings(maximum_ratio=1.5, maximum_extra=2, maximum_length=20, minimum_length=6)
    assert settings.limits(torch.tensor([1, 5, 100])).tolist() == [6, 9, 20]


@pytest.mark.parametrize("name", ["minimum_length", "maximum_length", "maximum_ratio", "maximum_extra"])
def test_limits_too_large_for_numbers_are_refused(name: str) -> None:
    settings = parse(DecodingSettings, {name: MOST_TOKENS}, "decoding")
    limits = settings.limits(torch.tensor([1, 100, 10_000]))
    assert limits.tolist() == [settings.limit(length) for length in (1, 100, 10_000)] and limits.min() >= 22
    with pytest.raises(SettingsError, match=rf"`{name}` is 1.*, but it must be at most {MOST_TOKENS}"):
        parse(DecodingSettings, {name: 10**19}, "decoding")


def test_the_largest_length_penalty_tells_long_translations_apart() -> None:
    for normalisation in ("wu", "average"):
        settings = DecodingSettings(length_penalty=LARGEST_PENALTY, length_normalisation=normalisation)
        worse, better = settings.normalise(torch.tensor([-301.0, -300.0]), torch.tensor([4000, 4000])).tolist()
        assert worse < better < 0


def test_samples_may_be_more_than_the_beam() -> None:
    assert DecodingSettings(method="sample", beam=1, n_best=9).n_best == 9


@pytest.mark.parametrize("choice", [{"rerank": (Path("runs/other"),)}, {"mbr_samples": 4}])
def test_samples_are_not_chosen_from(choice: dict[str, Any]) -> None:
    settings = DecodingSettings(method="sample", n_best=9, **choice)
    assert settings.searches == (settings,) and not settings.reranks


@pytest.mark.parametrize(("search", "reranks"), [({}, True), ({"method": "greedy"}, False), ({"beam": 1}, False)])
def test_only_several_hypotheses_are_reranked(search: dict[str, Any], reranks: bool) -> None:
    settings = DecodingSettings(rerank=(Path("runs/other"),), **search)
    assert settings.reranks == reranks
    assert [one.n_best for one in settings.searches] == [settings.size]
