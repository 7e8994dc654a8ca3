"""Arenas: read, quick_version, refused in one sentence."""

from pathlib import Path

import pytest
from tests.arena.arenas import ARENA, arena, arena_file
from tests.tiny import RNN

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
        ("systems.both.ensemble=[rnn]", "the system `both`: its `ensemble` needs at least two systems"),
        ("systems.both.recipe=own-files", "the system `both`: it is either an `ensemble` or has a `recipe`"),
        ("systems.rnn={}", "the system `rnn`: it needs a `recipe`, a model in `set`, or an `ensemble`"),
        ("systems.rnn.set.data={}", "the system `rnn`: `set.data` cannot differ between systems; set it in `base`"),
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


@pytest.mark.parametrize("name", ["arena-multi30k", "arena-phrasebook"])
def test_shipped_arenas_compare_the_same_systems(name):
    found = load_arena(name)
    assert len(found.about) > 20
    assert list(found.systems) == list(load_arena("arena-multi30k").systems)


def test_overrides_reach_into_a_system():
    found = arena("systems.rnn.set.model.hidden=64")
    assert found.systems["rnn"].set["model"] == {**RNN, "hidden": 64}
