"""What is asked for must have an effect; what a recipe says may be idle."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.decoding import DecodingSettings, SearchSettings
from dragoman.errors import SettingsError
from dragoman.inference.checks import lay_over
from dragoman.models.capabilities import Capabilities


@pytest.mark.parametrize(
    ("recipe", "changes", "advice"),
    [
        ({}, {"temperature": 0.5}, "decoding.method: sample"),
        ({}, {"top_k": 3}, "decoding.method: sample"),
        ({}, {"top_p": 0.5}, "decoding.method: sample"),
        ({}, {"seed": 7}, "decoding.method: sample"),
        ({"method": "sample"}, {"beam": 3}, "decoding.method: beam"),
        ({}, {"method": "sample", "stopping": "full"}, "decoding.method: beam"),
        ({"method": "sample"}, {"coverage_penalty": 0.5}, "decoding.method: sample"),
        ({"method": "greedy"}, {"beam": 3}, "decoding.method: beam"),
        ({"beam": 1}, {"stopping": "full"}, "decoding.beam"),
        ({"mbr_samples": 4}, {"coverage_penalty": 0.5}, "decoding.mbr_samples"),
        ({"length_normalisation": "none"}, {"length_penalty": 0.5}, "length_normalisation"),
    ],
)
def test_what_is_asked_for_must_have_an_effect(recipe: dict[str, Any], changes: dict[str, Any], advice: str) -> None:
    with pytest.raises(SettingsError) as caught:
        lay_over(DecodingSettings(**recipe), changes)
    *_, idle = changes
    assert f"`decoding.{idle}" in str(caught.value) and advice in str(caught.value)
    assert lay_over(DecodingSettings(**{**recipe, **changes}), changes) == DecodingSettings(**{**recipe, **changes})


@pytest.mark.parametrize("name", sorted(set(DecodingSettings.model_fields) - set(SearchSettings.model_fields)))
def test_a_language_model_has_no_settings_of_translation(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        lay_over(SearchSettings(), {name: True})
    assert f"`decoding.{name}`" in str(caught.value) and "translation" in str(caught.value)


def test_none_changes_nothing_unless_it_is_a_value() -> None:
    base = DecodingSettings(beam=3, maximum_length=9)
    assert lay_over(base, {"beam": None}) == base
    assert lay_over(base, {"maximum_length": None}).maximum_length is None
    assert base.of_search() == SearchSettings(beam=3, maximum_length=9)


@pytest.mark.parametrize("given", [{"beam": 3}, "beam=3", 3], ids=repr)
def test_what_is_no_settings_is_refused_with_how_to_give_one(given: Any) -> None:
    for changes in ({}, {"n_best": 2}):
        with pytest.raises(SettingsError, match=r"`settings` is .*`beam=3`"):
            lay_over(given, changes)


def test_a_model_without_attention_has_no_coverage() -> None:
    with pytest.raises(SettingsError, match=r"decoding\.coverage_penalty.*attention"):
        lay_over(DecodingSettings(), {"coverage_penalty": 0.5}, Capabilities())
    lay_over(DecodingSettings(), {"coverage_penalty": 0.5}, Capabilities(source_heads=(1, 1)))


def test_weights_belong_to_the_runs_that_rerank() -> None:
    base = DecodingSettings(rerank=(Path("a"), Path("b")), rerank_weights=(0.1, 0.2))
    assert lay_over(base, {"rerank": ["c"]}).weights == (0.5,)
    assert lay_over(base, {"rerank": ["c"], "rerank_weights": [0.7]}).weights == (0.7,)
    assert lay_over(base, {"rerank_weights": [0.3, 0.4]}).weights == (0.3, 0.4)
    assert not lay_over(base, {"rerank": [], "mbr_samples": 4}).reranks


@pytest.mark.parametrize("changes", [{"mbr_samples": 4}, {"coverage_penalty": 0.2}])
def test_what_the_runs_of_a_recipe_would_overrule_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"both choose.*set `rerank: \[\]` or"):
        lay_over(DecodingSettings(rerank=(Path("other"),)), changes)
