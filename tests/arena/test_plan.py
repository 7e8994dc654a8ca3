"""From an arena to jobs: recipes laid over one another, what comes before what, mistakes named before any training."""

from pathlib import Path

import pytest
import yaml
from tests.arena.arenas import BASE, BROKEN, arena
from tests.tiny import LANGUAGE_MODELS, RNN

from dragoman.arena.plan import chosen_jobs, make_plan, scaled
from dragoman.arena.settings import load_arena
from dragoman.errors import SettingsError
from dragoman.runs.recipe import Recipe, shipped_arenas
from dragoman.settings import AUTO, parse


def recipe_of(*assignments: str, system: str = "rnn") -> Recipe:
    return parse(Recipe, make_plan(arena(*assignments)).recipes[system])


def test_the_arenas_budget_takes_the_place_of_all_others():
    found = recipe_of("base.training.epochs=3", "systems.rnn.set.training.minutes=9").training
    assert (found.tokens, found.steps, found.epochs, found.minutes, found.flops) == (1500, None, None, None, None)


def test_a_system_goes_over_the_base_and_threads_over_both():
    found = recipe_of("systems.rnn.set.training={learning_rate: 0.5, threads: 7}", "base.training.clip=3", "threads=2")
    assert (found.training.learning_rate, found.training.clip, found.training.threads) == (0.5, 3, 2)


def test_a_recipe_brings_model_training_and_text_of_its_own_alone(tmp_path: Path):
    whole = {**BASE, "model": {**RNN, "cell": "lstm"}, "training": {"clip": 9, "steps": 3}}
    (tmp_path / "whole.yaml").write_text(yaml.safe_dump(whole), encoding="utf-8")
    middle = {"extends": "whole.yaml", "model": RNN, "training": {"learning_rate": 0.25}, "decoding": {"beam": 9}}
    (tmp_path / "middle.yaml").write_text(yaml.safe_dump(middle), encoding="utf-8")
    own = {"extends": "middle.yaml", "about": "Mine.", "seed": 9, "model": {"hidden": 48}, "text": {"kind": "words"}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")
    found = recipe_of(f"systems={{rnn: {{recipe: {tmp_path}/own.yaml}}}}")
    assert (found.model.hidden, found.model.cell, found.training.learning_rate) == (48, "gru", 0.25)
    assert (found.training.clip, found.text.kind, found.decoding.beam, found.seed) == (1.0, "words", 2, 1)


def test_a_base_may_extend_a_recipe():
    found = recipe_of("base={extends: phrasebook-en-vi, data: {target: fr}}")
    assert (found.data.target, found.model.hidden, found.text.kind) == ("fr", RNN["hidden"], "words")


@pytest.mark.parametrize("base", ["{extends: own-files, data: {root: none}}", "{extends: own-files, decoding: auto}"])
def test_search_is_chosen_for_no_system_alone(base: str):
    found = recipe_of(f"base={base}", "base.data.test=[{source: a, target: b}]", "base.training.learning_rate=0.01")
    assert not [path for path in found.auto if path.startswith("decoding.")] and "training.warmup" in found.auto


def test_a_search_comes_first_and_tries_the_systems_own_rate():
    plan = make_plan(arena("search={learning_rates: [0.5, 2], share: 0.1}"))
    trials = plan.trials("rnn")
    assert [parse(Recipe, one.recipe).training.learning_rate for one in trials] == [0.005, 0.02]
    assert {parse(Recipe, one.recipe).training.tokens for one in trials} == {150}
    assert [job.is_trial for job in plan.jobs] == [True] * 4 + [False] * 6
    assert plan.runs("rnn")[1].needs == ("rnn/trial-0.5", "rnn/trial-2")


@pytest.mark.parametrize("assignment", ["base.training=null", "systems.rnn.set.training=null", "base.training=[3]"])
def test_training_that_is_no_table_is_refused(assignment: str):
    with pytest.raises(SettingsError, match=r"the system `rnn`: `training` is .*, but it must be a table of settings"):
        make_plan(arena(assignment))


def test_rates_may_be_written_as_powers_of_ten():
    phases = "base.training.phases=[{after: 0.5, learning_rate: 1e-4}]"
    plan = make_plan(arena("base.training.learning_rate=1e-3", phases, "search={learning_rates: [0.5, 2]}"))
    for factor, table in (*((job.factor, job.recipe) for job in plan.trials("rnn")), (1.0, plan.recipes["rnn"])):
        found = parse(Recipe, table).training
        assert (found.learning_rate, found.phases[0].learning_rate) == (1e-3 * factor, 1e-4 * factor)
    assert scaled(plan.recipes["rnn"], 1.0)["training"]["learning_rate"] == 1e-3


@pytest.mark.parametrize(
    "left", ["base.training=auto", "base={extends: own-files, training: auto}", "systems.rnn.set.training=auto"]
)
def test_training_may_be_left_to_auto(left: str):
    plan = make_plan(arena(left, "base.data.test=[{source: a, target: b}]"))
    table = scaled(plan.recipes["rnn"], 1.0)
    found = parse(Recipe, table)
    assert {"training.learning_rate", "training.batch_tokens"} <= set(found.auto)
    assert table["training"]["learning_rate"] == AUTO and "training.epochs" not in found.auto
    assert (found.training.tokens, found.training.epochs) == (1500, None)


def test_a_rate_that_is_chosen_later_cannot_be_searched():
    left = "base.training.learning_rate=auto"
    assert "training.learning_rate" in recipe_of(left).auto
    with pytest.raises(SettingsError, match=r"`rnn` leaves `training.learning_rate` to `auto`.*remove `search`"):
        make_plan(arena(left, "search={learning_rates: [0.5, 2], share: 0.1}"))


def test_ensembles_wait_for_their_members_of_the_same_seed():
    assert [job.needs for job in make_plan(arena()).runs("both")] == [
        ("rnn/seed-1", "transformer/seed-1"),
        ("rnn/seed-2", "transformer/seed-2"),
    ]


def test_members_of_an_ensemble_may_differ_in_how_their_text_is_sampled():
    for setting in ("sampling=0.1", "sampling_target=0.1", "sampling_epochs=3"):
        given = ("base.text.sampling=0.2", f"systems.rnn.set.text.{setting}")
        assert len(make_plan(arena(*given)).runs("both")) == 2


def test_the_first_seed_of_all_comes_before_the_second_of_any():
    assert [job.seed for job in make_plan(arena()).jobs] == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("systems.rnn={recipe: phrasebook-en-vn}", "the system `rnn`: there is no recipe `phrasebook-en-vn`"),
        ("systems.rnn.set.model.kind=transfomer", "`model.kind` cannot be `transfomer`; did you mean `transformer`?"),
        ("systems.rnn.set.model.hiden=3", "the system `rnn`, section `model`, has no setting `hiden`"),
        ("systems.both.ensemble=[rnn, transfomer]", "not a trained system; did you mean `transformer`?"),
        ("systems.both.ensemble=[rnn, rnn]", "the ensemble `both` names a system twice"),
        ("base.data.test=[]", "`base.data.test`"),
        (
            "systems.rnn.set.text={size: 400}",
            "`rnn` and `transformer` of the ensemble `both` would have different target",
        ),
        (
            "systems.rnn.set.text={kind: characters}",
            "(their `text` sections differ), so they cannot translate together",
        ),
    ],
)
def test_mistakes_are_named_before_any_training(assignment, sentence):
    with pytest.raises(SettingsError) as found:
        make_plan(arena(assignment))
    assert sentence in str(found.value)


def test_a_model_that_does_not_translate_is_refused():
    table = {"set": {"model": LANGUAGE_MODELS["decoder_only"], "training": {"metric": "loss"}}}
    with pytest.raises(
        SettingsError, match="the system `rnn` is a model of the kind `decoder_only`, which does not translate"
    ):
        make_plan(arena(f"systems.rnn={table}"))


def test_systems_may_sample_subwords_and_still_translate_together():
    make_plan(arena("systems.rnn.set.text.sampling=0.1"))


def test_one_system_is_chosen_with_what_it_needs():
    plan = make_plan(arena("systems.short=" + str(BROKEN)))
    assert [job.name for job in chosen_jobs(plan, ["rnn"])] == ["rnn/seed-1", "rnn/seed-2"]
    assert {job.system for job in chosen_jobs(plan, ["both"])} == {"rnn", "transformer", "both"}
    with pytest.raises(SettingsError, match=r"the arena has no system `rnm`; did you mean `rnn`"):
        chosen_jobs(plan, ["rnm"])


@pytest.mark.parametrize("name", shipped_arenas())
def test_every_system_of_a_shipped_arena_fits(name):
    plan = make_plan(load_arena(name))
    assert len({str(recipe["data"]) for recipe in plan.recipes.values()}) == 1
    assert len(plan.recipes) == 10
