"""What is asked for must have an effect; what a recipe says may be idle."""

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


def test_a_model_without_attention_has_no_coverage() -> None:
    with pytest.raises(SettingsError, match=r"decoding\.coverage_penalty.*attention"):
        lay_over(DecodingSettings(), {"coverage_penalty": 0.5}, Capabilities())
    lay_over(DecodingSettings(), {"coverage_penalty": 0.5}, Capabilities(source_heads=(1, 1)))
