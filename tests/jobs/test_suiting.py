"""What `auto` has chosen suits what the recipe sets itself."""

import pytest
from tests.tiny import chosen, left_to_auto

from dragoman.jobs.checks import check_recipe
from dragoman.jobs.choices import choose_model
from dragoman.jobs.suiting import LEAST_DROPOUT, RATES
from dragoman.jobs.workload import Workload


@pytest.mark.parametrize("average", [2, 7])
def test_as_many_weights_are_kept_as_the_recipe_averages(average: int) -> None:
    found = chosen(left_to_auto("training.keep=auto", f"training.average={average}"), Workload(100, 2500, 5000))
    assert (found.training.keep, found.training.average) == (average, average)
    assert chosen(left_to_auto("training.keep=auto"), Workload(100, 2500, 5000)).training.keep == 1


@pytest.mark.parametrize(("optimizer", "decay"), [("adam", 0.0), ("adamw", 0.01), ("sgd", 0.01)])
def test_nothing_decays_where_a_phase_is_of_adam(optimizer: str, decay: float) -> None:
    phases = f"training.phases=[{{after: 0.5, optimizer: {optimizer}}}]"
    found = chosen(left_to_auto("training.weight_decay=auto", phases), Workload(100, 2500, 5000))
    assert found.training.weight_decay == decay and found.training.optimizer == "muon"


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "nesterov", "muon"])
@pytest.mark.parametrize("model", ["auto", "{kind: transformer}", "{kind: rnn}", "{kind: gnmt, hidden: 32}"])
def test_an_optimiser_that_the_recipe_names_has_rates_of_its_own(model: str, optimizer: str) -> None:
    with_rates = ["training.embedding_rate=auto", "training.weight_decay=auto"]
    momentum = ["training.momentum=0.9"] if optimizer in ("sgd", "nesterov") else []
    given = left_to_auto(f"training.optimizer={optimizer}", f"model={model}", *with_rates, *momentum)
    found = chosen(given, work := Workload(100, 2500, 5000, timed=True))
    assert found.training.weight_decay == (0.01 if optimizer in ("adamw", "muon") else 0.0)
    check_recipe(found)
    assert found.training.optimizer == optimizer
    usual = chosen(left_to_auto(f"model={model}", *with_rates), work).training
    if usual.optimizer == optimizer:
        assert found.training.learning_rate == usual.learning_rate
    else:
        assert (found.training.learning_rate, found.training.embedding_rate) == (RATES[optimizer], 1.0)


@pytest.mark.parametrize(("passes", "reason"), [(2, "R-Drop"), (20, "20 passes")])
def test_the_reason_for_dropout_is_what_it_follows_from(passes: int, reason: str) -> None:
    given = left_to_auto("model={kind: transformer, dropout: auto}", "training.consistency={kind: r_drop}")
    (found,) = (one for one in choose_model(given, Workload(100, 2500, passes * 2500)) if one.path == "model.dropout")
    assert found.reason.startswith(reason) and found.value == (LEAST_DROPOUT if passes == 2 else 0.2)


@pytest.mark.parametrize(
    ("phases", "share"), [("{after: 0.1}", 0.1), ("{after: 0.1, warmup: 3}", 0.1), ("{after: 0.9, warmup: 3}", 0.9)]
)
def test_the_warm_up_is_a_quarter_of_the_shortest_phase_at_most(phases: str, share: float) -> None:
    given = left_to_auto("training.warmup=auto", "training.batch_tokens=1000", f"training.phases=[{phases}]")
    work = Workload(1000, 100_000, 100_000, batch=1000)
    assert chosen(given, work).training.warmup == int(min(50, work.steps(1000) * share / 4))
