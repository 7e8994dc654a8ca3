"""Settings of the corpora that a run reads."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.data.settings import DataSettings
from dragoman.errors import SettingsError
from dragoman.settings import Settings, dump, parse, read_yaml


class Recipe(Settings):
    """Something that has data."""

    data: DataSettings


def data(*train: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a table of settings with these training corpora."""
    return {"source": "en", "target": "fr", "train": list(train), "dev": [{"tsv": "dev.tsv"}], **changes}


def test_settings_survive_a_file(tmp_path: Path) -> None:
    table = data(
        {"source": "a.en", "target": "a.fr", "repeat": 2},
        {"tsv": "a.tsv", "columns": [2, 0], "hold_out": {"keep": "rest"}},
        {"json": "a.jsonl", "fields": ["x", "y"], "document": "talk"},
        {"source": "a.en", "target": "a.fr", "documents": "blank lines", "links": "a.links"},
        {"source": "a.en", "target": "a.fr", "documents": "a.ids"},
        {"text": "a.txt"},
        {"text": "a.txt", "noised": True},
        {"phrasebook": "train", "pairs": 10, "seed": 3},
        filters={"max_words": None, "drop_duplicates": True},
        root="/corpora",
    )
    recipe = parse(Recipe, {"data": table})
    (tmp_path / "recipe.yaml").write_text(dump(recipe), encoding="utf-8")
    assert parse(Recipe, read_yaml(tmp_path / "recipe.yaml")) == recipe


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            data({"tsv": "a", "colums": [0, 1]}),
            r"section `data\.train\.0`, has no setting `colums`; did you mean `columns`\?",
        ),
        (data({"source": "a.en"}), r"the recipe lacks the setting `data\.train\.0\.target`; add it"),
        (data({"target": "a.en"}), r"the recipe lacks the setting `data\.train\.0\.source`; add it"),
        (data({"jsonl": "a", "target": "b"}), r"section `data\.train\.0`, has no setting `target`"),
        (
            data({"phrasebook": "train", "pairs": 1}, source="vi"),
            "the phrasebook is between .* but `data.source` is `vi` and `data.target` is `fr`",
        ),
        (data({"tsv": "a", "document": -1}), r"`data\.train\.0\.document` is -1, but it must be at least"),
        (data({"tsv": "a", "documents": "b"}), r"has no setting `documents`; did you mean `document`"),
        (data({"text": "a", "links": "b"}), r"section `data\.train\.0`, has no setting `links`"),
        (data({"tvs": "a"}), r"a corpus is given by `source` and `target`, by `tsv`, .* but one has `tvs`"),
        (data({}), "a corpus is given by .* but one has nothing"),
        (
            data({"tsv": "a", "repeat": 0}),
            r"`data\.train\.0\.repeat` is 0, but it must be at least 1",
        ),
        (data({"tsv": "a", "columns": [0]}), r"`data\.train\.0\.columns"),
        (
            data({"tsv": "a", "hold_out": {"keep": "hold"}}),
            r"`data\.train\.0\.hold_out\.keep` cannot be `hold`; did you",
        ),
        (
            data({"phrasebook": "tests", "pairs": 1}),
            r"`data\.train\.0\.phrasebook` cannot be `tests`; did you mean `test`",
        ),
        (data("a.tsv"), r"`data\.train\.0"),  # type: ignore[arg-type]
        (
            data({"phrasebook": "train", "pairs": 1}, target="de"),
            "the phrasebook is between `en` and `vi` or `fr`, or one of them alone, but `data.source` is `en` and `data.target` "
            "is `de`",
        ),
    ],
)
def test_a_misfit_is_named_with_its_place(table: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse(Recipe, {"data": table})


def several(*train: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a table of settings with three languages."""
    dev = [{"tsv": "dev.tsv", "languages": ["en", "fr"]}]
    return {"languages": ["en", "fr", "de"], "train": list(train), "dev": dev, **changes}


EN_FR = {"tsv": "a", "languages": ["en", "fr"]}
EN_DE = {"tsv": "a", "languages": ["en", "de"]}


def test_corpora_name_their_languages() -> None:
    found = parse(DataSettings, several({**EN_FR, "both_ways": True}, EN_DE))
    assert found.tagged and found.tags == ("en", "fr", "de")
    assert found.directions.trained == (("en", "fr"), ("fr", "en"), ("en", "de"))
    assert found.place(Path("train.{source}-{target}"), found.train[1]) == Path("train.en-de")


def test_by_default_a_corpus_has_the_languages_of_the_data() -> None:
    found = parse(DataSettings, several({"tsv": "a"}, EN_DE, source="en", target="fr"))
    assert found.directions.trained == (("en", "fr"), ("en", "de"))


def test_corpora_of_a_recipe_for_both_ways_may_name_its_languages() -> None:
    both = {"tsv": "a", "both_ways": True}
    made = [{"tsv": "b", "languages": ["fr", "en"]}, {**NOISED, "languages": ["en", "en"]}]
    settings = parse(DataSettings, data(both, *made))
    assert [settings.directions_of(corpus) for corpus in settings.train[1:]] == [[("fr", "en")], [("en", "en")]]
    with pytest.raises(SettingsError, match=r"names `de`, not one of .*\(en, fr\)"):
        parse(DataSettings, data(both, {"tsv": "b", "languages": ["de", "en"]}))


def test_both_ways_needs_no_list_of_languages() -> None:
    found = parse(DataSettings, data({"tsv": "a", "both_ways": True}))
    assert found.tagged and found.tags == ("en", "fr")
    assert found.directions.trained == (("en", "fr"), ("fr", "en"))


def test_one_direction_has_no_tags() -> None:
    found = parse(DataSettings, data({"tsv": "a"}))
    assert not found.tagged and found.tags == () and found.directions.trained == (("en", "fr"),)
    assert set(found.train[0].what) == {"repeat", "hold_out", "first", "tsv", "columns", "document"}, (
        "stores keep their names"
    )


NOISED = {"text": "news.{target}", "noised": True}


def test_noised_text_is_of_the_target_language_and_no_direction() -> None:
    found = parse(DataSettings, data({"tsv": "a"}, NOISED))
    assert found.pairs == found.train[:1] and found.directions.trained == (("en", "fr"),)
    assert found.direction(found.train[1]) == ("fr", "fr")
    assert found.place(Path("news.{source}"), found.train[1]) == Path("news.fr")
    many = parse(DataSettings, several({**EN_FR, "both_ways": True}, EN_DE, {**NOISED, "languages": ["en", "en"]}))
    assert many.directions.trained == (("en", "fr"), ("fr", "en"), ("en", "de"))
    assert many.direction(many.train[2]) == ("en", "en")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (data(NOISED), r"`data\.train\.0\.noised` works only in translators, beside a training corpus of pairs"),
        (data({"tsv": "a", "noised": True}), r"section `data\.train\.0`, has no setting `noised`"),
        (
            several(EN_FR, {**NOISED, "languages": ["en", "en"]}),
            r"`data\.train\.1` is from `en` to `en`, but no corpus in `data\.train` is into `en`",
        ),
        (several(EN_FR, {**NOISED, "languages": ["en", "fr"]}), r"name it twice, such as `languages: \[fr, fr\]`"),
        (
            several({"tsv": "a"}),
            r"`data\.train\.0` does not say which languages it has; add `languages: .*\(en, fr, de\)",
        ),
        (
            several({**EN_FR, "languages": ["en", "ff"]}),
            r"`data\.train\.0\.languages` names `ff`, not one of `data\.languages`",
        ),
        (several(EN_FR, languages=["en"]), r"`data\.languages` is \['en'\], but it must name at least two"),
        (several(EN_FR, languages=["en", "fr", "en"]), r"must name at least two different ones"),
        (several(EN_FR, languages=["en", "f r"], dev=[EN_FR]), r"the language `f r` cannot have a tag"),
        (several(EN_FR, source="vi", target="fr"), r"`data\.source` is `vi`, which is not one of `data\.languages`"),
        (data(EN_FR), r"`data\.train\.0\.languages` needs `data\.languages`"),
        (
            data({"tsv": "a"}, dev=[{"tsv": "a", "both_ways": True}]),
            r"`data\.dev\.0\.both_ways` needs a training corpus that",
        ),
        (
            data({"tsv": "a", "both_ways": True, "tagged": True}),
            r"`data\.train\.0\.tagged` says .* in place of `both_ways`",
        ),
        (data({"tsv": "a", "both_ways": True}, target="en"), r"`data\.train\.0\.both_ways` needs two languages"),
        (several(EN_DE), r"`data\.dev\.0` is from `en` to `fr`, but no corpus in `data\.train` has `fr`; add one, or"),
        (
            several({**EN_DE, "languages": ["fr", "en"]}, dev=[{**EN_FR, "languages": ["en", "fr"]}]),
            r"`data\.dev\.0` is from `en` to `fr`, but no corpus in `data\.train` is into `fr`; add one, or",
        ),
        (
            several(EN_FR, test=[{"tsv": "a", "languages": ["de", "fr"]}]),
            r"`data\.test\.0` is from `de` to `fr`, but no corpus in `data\.train` has `de`; add one, or",
        ),
        (
            several({"text": "a", "languages": ["en", "fr"]}),
            r"text of one language; name it twice, such as `languages: \[en, en\]`",
        ),
        (
            several({"phrasebook": "train", "pairs": 1, "languages": ["fr", "de"]}),
            r"the phrasebook is between .* but `data\.train\.0\.languages` is \['fr', 'de'\]",
        ),
        (
            {"source": "en", "train": [{"tsv": "a"}], "dev": [{"tsv": "a"}]},
            r"`data\.target` is missing; add it, or `data\.languages`",
        ),
        ({"target": "en", "train": [{"tsv": "a"}], "dev": [{"tsv": "a"}]}, r"`data\.source` is missing"),
    ],
)
def test_languages_that_do_not_fit_are_named(table: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse(Recipe, {"data": table})


def test_a_pair_that_is_only_tested_is_fine() -> None:
    zero_shot = [{"tsv": "a", "languages": ["de", "fr"]}]
    both = [{**EN_FR, "both_ways": True}, {**EN_DE, "both_ways": True}]
    assert parse(DataSettings, several(*both, test=zero_shot)).directions.remark(("de", "fr")) is not None


def test_settings_have_a_schema() -> None:
    assert "columns" in str(Recipe.model_json_schema())
