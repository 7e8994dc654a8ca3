"""Settings from YAML: strict, and refused in one sentence that says what, where and what to do."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError, model_validator

from dragoman.errors import SettingsError
from dragoman.settings import Settings, dump, merge, nearest, override, parse, read_yaml


class Corpus(Settings):
    """Where sentences are."""

    source: str
    repeat: int = 1


class Recurrent(Settings):
    """One of two kinds."""

    kind: Literal["rnn"] = "rnn"
    cell: Literal["gru", "lstm"] = "gru"
    hidden: int = Field(8, ge=1)


class Transformer(Settings):
    """The other kind."""

    kind: Literal["transformer"] = "transformer"
    width: int = 8
    dropout: float = 0.1


class Recipe(Settings):
    """Everything."""

    data: tuple[Corpus, ...]
    model: Annotated[Recurrent | Transformer, Field(discriminator="kind")]
    seed: int = 1
    limit: float = Field(1.0, gt=0, allow_inf_nan=True)
    begins: Literal["blank lines"] | Path | None = None
    names: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> "Recipe":
        if self.seed == 13:
            raise ValueError("`seed` is 13, which brings bad luck; choose another")
        return self


GOOD: dict[str, Any] = {"data": [{"source": "a"}, {"source": "b"}], "model": {"kind": "rnn"}}

REFUSED = [
    (["seed=yes"], "the recipe: `seed` is yes, but it must be a number or a word"),
    (["model=yes"], "the recipe: `model` is yes, but it must be a table of settings"),
    (
        ["model={kind: transformer, dropout: .nan}"],
        "the recipe: `model.dropout` is nan, but it must be a finite number",
    ),
    (
        ["model={kind: transformer, dropout: .inf}"],
        "the recipe: `model.dropout` is inf, but it must be a finite number",
    ),
    (["limit=.nan"], "the recipe: `limit` is nan, but it must be above 0"),
    (["sead=3"], "the recipe has no setting `sead`; did you mean `seed`?"),
    (["model.hiden=3"], "the recipe, section `model`, has no setting `hiden`; did you mean `hidden`?"),
    (["data.1.sorce=c"], "the recipe, section `data.1`, has no setting `sorce`; did you mean `source`?"),
    (["model.width=3"], "the recipe, section `model`, has no setting `width`; known: cell, hidden, kind"),
    (["model.kind=transformr"], "the recipe: `model.kind` cannot be `transformr`; did you mean `transformer`?"),
    (["model={}"], "the recipe: `model.kind` is missing; known: rnn, transformer"),
    (["model=3"], "the recipe: `model` is 3, but it must be a table of settings"),
    (["data=a"], "the recipe: `data` is 'a', but it must be a list"),
    (["data.2.repeat=2"], "the recipe lacks the setting `data.2.source`; add it"),
    (["model.cell=gro"], "the recipe: `model.cell` cannot be `gro`; did you mean `gru`?"),
    (["model.cell=tanh"], "the recipe: `model.cell` cannot be `tanh`; known: gru, lstm"),
    (["model.hidden=0"], "the recipe: `model.hidden` is 0, but it must be at least 1"),
    (["seed=1.5"], "the recipe: `seed` is 1.5, but it must be a whole number"),
    (["begins=7"], "the recipe: `begins` cannot be `7`; known: blank lines"),
    (["names=[a]"], "the recipe: `names` is ['a'], but it must be a table of settings"),
    (["limit=much"], "the recipe: `limit` is 'much', but it must be a number"),
    (["seed=13"], "the recipe: `seed` is 13, which brings bad luck; choose another"),
]


OF_ANOTHER_KIND = [
    (
        ["model.kind=transformer", "model.hidden=9"],
        "has no setting `hidden`; known: dropout, kind, width; `hidden` is a setting of `model.kind: rnn`, not of `transformer`; "
        "to change the kind, add --set model.kind=..., or replace the whole section: --set 'model={kind: ...}'",
    ),
    (["model.kind=transformer", "model.wodth=9"], "has no setting `wodth`; did you mean `width`?"),
    (
        ["model.dropout=0.2"],
        "; `dropout` is a setting of `model.kind: transformer`, not of `rnn`; to change the kind, ",
    ),
    (["model.droput=0.2"], "has no setting `droput`; known: cell, hidden, kind"),
]


@pytest.mark.parametrize(("changes", "end"), OF_ANOTHER_KIND, ids=[changes[-1] for changes, _ in OF_ANOTHER_KIND])
def test_a_setting_of_another_kind_is_refused_with_that_kind(changes: list[str], end: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse(Recipe, override(GOOD, changes))
    assert end in str(error.value) and (" of `model.kind" in end) == (" of `model.kind" in str(error.value))


@pytest.mark.parametrize(("changes", "sentence"), REFUSED, ids=[changes[0] for changes, _ in REFUSED])
def test_a_misfit_is_refused_with_its_place_and_the_nearest_name(changes: list[str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{re.escape(sentence)}"):
        parse(Recipe, override(GOOD, changes))


def test_an_unknown_key_is_told_before_what_it_leaves_missing() -> None:
    with pytest.raises(SettingsError, match=r"section `data\.0`, has no setting `sourse`; did you mean `source`"):
        parse(Recipe, {**GOOD, "data": [{"sourse": "a"}]})


HUGE = [
    "seed=99999999999999999999999",
    "seed='99999999999999999999999'",
    "seed=" + "9" * 5000,
    "seed=" + ":".join("1" * 5000),
    "seed=" + ":".join("1" * 3000) + ".5",
    "seed='" + "x" * 5000 + "'",
    "seed=[" + "x, " * 5000 + "]",
    "model.kind=" + "x" * 5000,
    "model.cell=" + "x" * 5000,
    "model." + "x" * 5000 + "=1",
    "x" * 5000,
    "x" * 5000 + "=1",
    "data." + "1" * 5000 + "=1",
]


@pytest.mark.parametrize("assignment", HUGE, ids=lambda text: f"{text[:15]} {len(text)}")
def test_what_is_too_large_is_refused_and_not_quoted_whole(assignment: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(Recipe, override(GOOD, [assignment]))
    assert len(str(refused.value)) < 400


def test_whole_numbers_of_64_bits_are_taken() -> None:
    assert parse(Recipe, override(GOOD, [f"seed={2**63 - 1}"])).seed == 2**63 - 1


def test_what_aliases_make_large_is_refused_quickly(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    merges = "\n".join(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}" for n in range(1, 40))
    lists = "\n".join(f"m{n}: &m{n} [{f'*m{n - 1}, ' * 9}]" for n in range(1, 9))
    deep = "\n".join(f"m{n}: &m{n} {'[' * 40}*m{n - 1}{']' * 40}" for n in range(1, 99))
    for rest in (merges, lists, deep):
        path.write_text(f"m0: &m0 {{a: 1}}\n{rest}\n", encoding="utf-8")
        with pytest.raises(SettingsError, match=r"is not valid YAML at line [0-9]+: "):
            read_yaml(path)


def test_the_sentence_names_where_the_settings_came_from() -> None:
    with pytest.raises(SettingsError, match=r"^runs/a/recipe\.yaml lacks the setting `data`; add it$"):
        parse(Recipe, {"model": GOOD["model"]}, where="runs/a/recipe.yaml")


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        parse(Recipe, GOOD).seed = 2


def test_numbers_that_yaml_takes_for_text_are_numbers() -> None:
    assert parse(Recipe, override(GOOD, ["limit=1e-3"])).limit == 0.001


def test_settings_survive_a_file(tmp_path: Path) -> None:
    recipe = parse(Recipe, override(GOOD, ["data.0.source=thử", "limit=.inf", "model.kind=transformer"]))
    (tmp_path / "recipe.yaml").write_text(dump(recipe), encoding="utf-8")
    assert parse(Recipe, read_yaml(tmp_path / "recipe.yaml")) == recipe


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"model: [1", "is not valid YAML at line 1: "),
        (b"a: 1\nb: {\n", "is not valid YAML at line 3: "),
        (b"a: 1\n\tb: 2\n", "is not valid YAML at line 2: "),
        (b"a: !!python/object:os.system {}", "is not valid YAML at line 1: "),
        (b"a: 1\nb: \x00", "is not valid YAML at line 2: the character U+0000"),
        (b'a: "\\ud800"', "is not valid YAML at line 1: the character U+D800"),
        (b'a: "\\UFFFFFFFF"', "is not valid YAML at line 1: "),
        (b"a: *b", "is not valid YAML at line 1: "),
        (b"a: 1\n---\nb: 1", "is not valid YAML at line "),
        (b"a: 1\nb: 2\na: 3", "is not valid YAML at line 3: `a` is given twice, first at line 1; remove one"),
        (b"a: {b: 1, b: 2}", "is not valid YAML at line 1: `b` is given twice"),
        (b"? [1]\n: 2", "is not valid YAML at line 1: a key"),
        (b"a: !!timestamp x", "is not valid YAML at line 1: a value has a tag"),
        (b"<<: 3", "is not valid YAML at line 1: `<<` merges"),
        (b"#" * (1 << 20) + b"\n", "is larger than 1 MiB"),
        (b"a: \xff", "is not UTF-8 text (byte 3); is it a recipe?"),
        (b"", "must hold sections such as `data:` and `model:`, but it holds nothing"),
        (b"- 1", "must hold sections such as `data:` and `model:`, but it holds a list"),
        (b"just text", "must hold sections such as `data:` and `model:`, but it holds text"),
        (b"3", "must hold sections such as `data:` and `model:`, but it holds a number"),
        (b"yes", "must hold sections such as `data:` and `model:`, but it holds yes or no"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=rf"^{re.escape(f'{path} {sentence}')}"):
        read_yaml(path)


def test_an_alias_is_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("a: &a {x: [1], y: 2}\nb: *a\nc: {<<: *a, y: 3}\nd: {<<: [{z: 1}, *a, {z: 2}]}\n", encoding="utf-8")
    table = override(read_yaml(path), ["a.x.0=5", "d.x.0=6"])
    assert table["a"] == {"x": [5], "y": 2}
    assert table["b"] == {"x": [1], "y": 2}
    assert table["c"] == {"x": [1], "y": 3}
    assert table["d"] == {"x": [6], "y": 2, "z": 1}


def test_a_missing_file_a_folder_and_one_that_may_not_be_read_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        SettingsError, match=r"there is no file .*none\.yaml; give the path of a recipe, or a name from"
    ):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(SettingsError, match=r"is a directory; give the path of a recipe \(a YAML file\)"):
        read_yaml(tmp_path)

    def forbidden(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(SettingsError, match=r"cannot be read \(Permission denied\); check its permissions"):
        read_yaml(tmp_path / "secret.yaml")


def test_overrides_reach_into_tables_and_lists() -> None:
    changed = override(GOOD, ["data.0.source=z", "data.2.source=c", "model.hidden=16", "seed = 5", "model.note=a=b"])
    assert changed["data"] == [{"source": "z"}, {"source": "b"}, {"source": "c"}]
    assert changed["model"] == {"kind": "rnn", "hidden": 16, "note": "a=b"}
    assert changed["seed"] == 5
    assert GOOD == {"data": [{"source": "a"}, {"source": "b"}], "model": {"kind": "rnn"}}, (
        "the table given is left alone"
    )


def test_overrides_are_yaml() -> None:
    changed = override({}, ["a=3", "b=3.5", "c=[1, 2]", "d=null", "e=yes", "f=text", "g={h: 1}", "i="])
    assert changed == {"a": 3, "b": 3.5, "c": [1, 2], "d": None, "e": True, "f": "text", "g": {"h": 1}, "i": None}


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("seed", "`--set seed` is not of the form a.b=value, for example training.steps=1000"),
        ("=3", "`--set =3` is not of the form a.b=value"),
        ("seed=[1", "`--set seed=[1`: the value is not valid YAML ("),
        ("seed=!!timestamp x", "`--set seed=!!timestamp x`: the value is not valid YAML (a value has a tag"),
        (
            "model={kind: rnn, kind: rnn}",
            "`--set model={kind: rnn, kind: rnn}`: the value is not valid YAML (`kind` is",
        ),
        ("data.root=\udcfe", "`--set data.root=\\udcfe`: the value is not valid YAML (the character U+DCFE"),
        (".".join(["a"] * 2000) + "=1", "`--set a.a."),
        ("data.²=1", "`--set data.²`: `²` is not an item of the list"),
        ("seed=" + "[" * 3000, "`--set seed=[[["),
        ("data.5.source=x", "`--set data.5.source`: `5` is not an item of the list, which has 2, counted from 0; give"),
        ("data.first.source=x", "`--set data.first.source`: `first` is not an item of the list, which has 2, counted"),
    ],
)
def test_an_override_that_fits_nowhere_is_refused(assignment: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{re.escape(sentence)}"):
        override(GOOD, [assignment])


def test_merging_goes_table_by_table_and_a_new_kind_begins_anew() -> None:
    base = {"model": {"kind": "rnn", "hidden": 8, "inner": {"a": 1, "b": 2}}, "seed": 1}
    assert merge(base, {"model": {"hidden": 9, "inner": {"b": 3}}}) == {
        "model": {"kind": "rnn", "hidden": 9, "inner": {"a": 1, "b": 3}},
        "seed": 1,
    }
    assert merge(base, {"model": {"kind": "rnn", "hidden": 9}})["model"]["inner"] == {"a": 1, "b": 2}
    assert merge(base, {"model": {"kind": "transformer"}})["model"] == {"kind": "transformer"}
    assert merge(base, {"model": 3})["model"] == 3
    assert base["model"]["hidden"] == 8


def test_a_kind_in_place_of_auto_leaves_the_rest_to_be_chosen() -> None:
    base = {"model": {"kind": "auto", "width": "auto", "relative": "auto"}}
    changed = {"kind": "transformer", "width": 256}
    assert merge(base, {"model": changed})["model"] == {**changed, "relative": "auto"}


def test_the_nearest_name_is_hinted_at_or_all_are_listed() -> None:
    assert nearest("hiden", ["hidden", "width"]) == "; did you mean `hidden`?"
    assert nearest("xyz", ["hidden", "width"]) == "; known: hidden, width"
