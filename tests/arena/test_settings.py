"""Arenas: read, quick_version, refused in one sentence."""

from pathlib import Path

import pytest
import yaml
from tests.arena.arenas import ARENA, BASE, arena, arena_file
from tests.tiny import RNN

from dragoman.arena.plan import make_plan
from dragoman.arena.settings import load_arena
from dragoman.errors import SettingsError
from dragoman.runs.recipe import load_recipe, shipped, shipped_arenas


def test_an_arena_is_read_with_its_systems_in_their_order(tmp_path: Path):
    assert list(load_arena(str(arena_file(tmp_path))).systems) == list(ARENA["systems"])


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("budget={}", "`budget` needs exactly one of `minutes`, `flops` and `tokens`"),
        ("budget={minutes: 1, tokens: 5}", "`budget` needs exactly one of"),
        ("seeds=[1, 1]", "`seeds` contains a number twice"),
        ("search={learning_rates: [1, 0.5, 1.0]}", "`search.learning_rates` contains a number twice"),
        ("systems.both.ensemble=[rnn]", "the system `both`: its `ensemble` needs at least two systems"),
        ("systems.both.recipe=own-files", "the system `both`: it is either an `ensemble` or has a `recipe`"),
        ("systems.rnn={}", "the system `rnn`: it needs a `recipe`, a model in `set`, or an `ensemble`"),
        ("systems.rnn.set.data={}", "the system `rnn`: `set.data` cannot differ between systems; set it in `base`"),
        ("base=7", "`base` is 7, but it must be the name of a recipe, or a table of settings"),
        ("base=[a]", "`base` is ['a'], but it must be the name of a recipe, or a table of settings"),
        ("sead=3", "has no setting `sead`; did you mean `seeds`?"),
    ],
)
def test_settings_that_do_not_fit_are_refused(assignment, sentence):
    with pytest.raises(SettingsError) as found:
        arena(assignment)
    assert sentence in str(found.value)


def test_a_quick_arena_has_one_seed_no_search_and_a_part_of_the_budget():
    quick = arena("search={}", "seeds=[4, 5]", "budget={minutes: 2}", "quick=0.25").quick_version()
    assert (quick.seeds, quick.search, quick.budget.amount()) == ((4,), None, 0.5)


def test_a_budget_of_tokens_stays_whole():
    assert arena("budget={tokens: 3}").budget.amount(0.1) == 1


def test_arenas_are_no_recipes_and_recipes_are_no_arenas(tmp_path: Path):
    assert {"arena-multi30k", "arena-phrasebook"} <= set(shipped_arenas())
    assert not set(shipped_arenas()) & set(shipped())
    with pytest.raises(SettingsError, match="is an arena, not a recipe; use it with `dragoman compare`"):
        load_recipe("arena-phrasebook")
    with pytest.raises(SettingsError, match="is a recipe, not an arena; use it with `dragoman train`"):
        load_arena("phrasebook-en-vi")
    with pytest.raises(SettingsError, match=r"no arena `arena-phrasbook`.*did you mean `arena-phrasebook`"):
        load_arena("arena-phrasbook")
    with pytest.raises(SettingsError, match=r"is a directory; give the path of an arena \(a YAML file\)"):
        load_arena(str(tmp_path))
    with pytest.raises(
        SettingsError, match=r"there is no file .*none.yaml; give the path of an arena, or a name as in"
    ):
        load_arena(str(tmp_path / "none.yaml"))


def test_recipes_are_found_beside_their_arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, clip in ((here, 1.0), (there, 2.0)):
        folder.mkdir()
        (folder / "base.yaml").write_text(yaml.safe_dump(BASE | {"training": {"clip": clip}}), encoding="utf-8")
        (folder / "rnn.yaml").write_text(yaml.safe_dump({"model": {**RNN, "hidden": 8 * clip}}), encoding="utf-8")
    (here / "only.yaml").write_text(yaml.safe_dump({"model": RNN}), encoding="utf-8")
    monkeypatch.chdir(here)
    systems = "systems={beside: {recipe: rnn.yaml}, here: {recipe: only.yaml}, shipped: {recipe: gnmt-small}}"
    for base in ("base={extends: base.yaml}", "base=base.yaml"):
        path = str(arena_file(there, base, systems))
        recipes = make_plan(load_arena(path)).recipes
        assert {recipe["training"]["clip"] for name, recipe in recipes.items() if name != "shipped"} == {2.0}
        assert [recipes[name]["model"]["hidden"] for name in ("beside", "here")] == [16, RNN["hidden"]]
        given = make_plan(load_arena(path, ["systems.beside.recipe=rnn.yaml"])).recipes["beside"]
        assert given["model"]["hidden"] == 8


@pytest.mark.parametrize(
    "base", ["base=7", "base={extends: [a]}", f"base={'a' * 300}", "systems={rnn: rnn.yaml}", "systems=3"]
)
def test_what_is_no_recipe_is_refused_as_before(base: str, tmp_path: Path):
    with pytest.raises(SettingsError) as found:
        make_plan(load_arena(str(arena_file(tmp_path, base))))
    assert "base" in str(found.value) or "systems" in str(found.value) or "there is no recipe" in str(found.value)


@pytest.mark.parametrize("name", ["arena-multi30k", "arena-phrasebook"])
def test_shipped_arenas_compare_the_same_systems(name):
    found = load_arena(name)
    assert len(found.about) > 20
    assert list(found.systems) == list(load_arena("arena-multi30k").systems)


def test_overrides_reach_into_a_system():
    found = arena("systems.rnn.set.model.hidden=64")
    assert found.systems["rnn"].set["model"] == {**RNN, "hidden": 64}
