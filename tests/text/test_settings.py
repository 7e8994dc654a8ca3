"""Settings of how text becomes pieces."""

import pytest
from pydantic import BaseModel

from dragoman.errors import SettingsError
from dragoman.settings import Settings, dump, parse, read_yaml
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, TextSettings, WordsSettings


class Recipe(Settings):
    """Something that has text."""

    text: TextSettings = SentencePieceSettings()


@pytest.mark.parametrize(
    "text", [SentencePieceSettings(sampling=0.1), WordsSettings(size=100), CharactersSettings(lower=True)]
)
def test_settings_survive_a_file(text: BaseModel, tmp_path) -> None:  # type: ignore[no-untyped-def]
    recipe = Recipe.model_validate({"text": text})
    (tmp_path / "recipe.yaml").write_text(dump(recipe), encoding="utf-8")
    assert parse(Recipe, read_yaml(tmp_path / "recipe.yaml")) == recipe


def test_merges_cannot_all_be_dropped() -> None:
    with pytest.raises(
        SettingsError, match=r"`text\.sampling` is 1\.0, but the chance to drop a merge must be below 1"
    ):
        parse(Recipe, {"text": {"kind": "sentencepiece", "sampling": 1}})


def test_a_temperature_may_be_high() -> None:
    assert parse(Recipe, {"text": {"kind": "sentencepiece", "algorithm": "unigram", "sampling": 5}}).text.sampling == 5


def test_words_and_characters_are_never_sampled() -> None:
    assert WordsSettings().sampling == CharactersSettings().sampling == 0
    with pytest.raises(SettingsError, match="has no setting `sampling`"):
        parse(Recipe, {"text": {"kind": "words", "sampling": 0.1}})


def test_the_target_may_be_sampled_otherwise_within_the_same_bounds() -> None:
    text = parse(Recipe, {"text": {"kind": "sentencepiece", "sampling": 0.1, "sampling_target": 0}}).text
    assert (text.sampling, text.sampling_target, text.sampling_epochs) == (0.1, 0, None)
    with pytest.raises(SettingsError, match=r"`text\.sampling_target` is 1\.0, but the chance to drop a merge"):
        parse(Recipe, {"text": {"kind": "sentencepiece", "sampling_target": 1}})
