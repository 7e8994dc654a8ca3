"""What `auto` has chosen, changed to suit what the recipe sets itself: optimiser, consistency, phases, a run to start from."""

from collections.abc import Sequence
from itertools import pairwise

from dragoman.jobs.workload import Choice, Workload, changed
from dragoman.runs.recipe import Recipe
from dragoman.training.consistency_settings import RDropSettings

CONTINUED = 1 / 3
"""Learning rate of a model that starts from a whole run, as a share of that of a new one: more undoes what was learned."""
IMPORTED_RATE = 5e-5
"""Learning rate of models trained elsewhere, in the middle of what people use for opus-mt."""
ADAPTED_RATE = 5e-4
"""Largest learning rate with which AdamW adapts a whole model: a new optimiser must not undo what it has learned."""
ADAPTERS_RATE = 5
"""How many times as fast adapters learn, which start from nothing."""
LEAST_DROPOUT = 0.1
"""Dropout with R-Drop, which compares two passes that must differ."""
RATES = {"adam": 0.0015, "adamw": 0.0015, "muon": 0.004, "sgd": 0.5, "nesterov": 0.25}
"""Learning rates of optimisers that the recipe names where `auto` would take another.

Those of sgd and nesterov are of GNMT (Wu et al. 2016) and ConvS2S (Gehring et al. 2017), whose gradients were clipped otherwise.
"""


def suited(recipe: Recipe, work: Workload, choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices with what suits the recipe's optimiser, consistency and phases, and a model that has learned before."""
    values = {one.path: one.value for one in choices}
    own: dict[str, Choice] = {}
    if values["training.keep"] < recipe.training.average:
        own["training.keep"] = Choice("training.keep", recipe.training.average, "")
    if isinstance(recipe.training.consistency, RDropSettings) and values["model.dropout"] < LEAST_DROPOUT:
        own["model.dropout"] = Choice("model.dropout", LEAST_DROPOUT, "R-Drop compares two passes, which must differ")
    most = int(_shortest_phase(recipe) * work.steps(values["training.batch_tokens"]) / 4)
    if values["training.warmup"] > most:
        own["training.warmup"] = Choice("training.warmup", most, "a quarter of the shortest phase")
    choices = _for_optimizer(recipe, [own.get(one.path, one) for one in choices])
    return choices if work.before is None else _continued(recipe, work, choices)


def _shortest_phase(recipe: Recipe) -> float:
    """Return the smallest share of the budget that a phase has, of those that begin with the recipe's warm-up."""
    phases = recipe.training.phases
    edges = [0.0, *(phase.after for phase in phases), 1.0]
    shares = [end - begin for begin, end in pairwise(edges)]
    inherit = [True, *(phase.warmup is None for phase in phases)]
    return min(share for share, takes in zip(shares, inherit, strict=True) if takes)


def _continued(recipe: Recipe, work: Workload, choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices with a lower rate; imported models and adapters are trained as `dragoman adapt` does, with AdamW."""
    training, adapters = recipe.training, getattr(recipe.model, "adapters", None) is not None
    free = "training.optimizer" in recipe.auto or training.optimizer in ("adam", "adamw")
    apart = "training.embedding_rate" not in recipe.auto and training.embedding_rate != 1.0  # which Muon alone has
    if free and not apart and (work.imported or adapters):
        rate = adapted_rate(imported=work.imported, adapters=adapters)
        whose = "of imported models" if work.imported else "of adapters"
        own = {
            "training.optimizer": Choice("training.optimizer", "adamw", ""),
            "training.learning_rate": Choice("training.learning_rate", rate, f"that {whose}"),
            "training.embedding_rate": Choice("training.embedding_rate", 1.0, ""),
        }
        return [own.get(one.path, one) for one in choices]
    (rate,) = (one.value for one in choices if one.path == "training.learning_rate")
    lower = float(f"{CONTINUED * rate:.3g}")
    return changed(
        choices, "training.learning_rate", value=lower, reason="a third, because the model has learned before"
    )


def adapted_rate(*, imported: bool, adapters: bool, most: float = ADAPTED_RATE) -> float:
    """Return the learning rate of AdamW for a model that has learned before, at most `most` if not imported, or for adapters.

    >>> adapted_rate(imported=False, adapters=True), adapted_rate(imported=True, adapters=False)
    (0.0025, 5e-05)
    """
    return (IMPORTED_RATE if imported else min(most, ADAPTED_RATE)) * (ADAPTERS_RATE if adapters else 1)


def _for_optimizer(recipe: Recipe, choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices; where the recipe names another optimiser than they do, with what suits that one.

    A phase has the rate of its recipe, but none may decay with Adam, whose setting refuses it.
    """
    usual = next(one.value for one in choices if one.path == "training.optimizer")
    name = usual if "training.optimizer" in recipe.auto else recipe.training.optimizer
    suiting: dict[str, Choice] = {}
    if name != usual:
        suiting["training.learning_rate"] = Choice("training.learning_rate", RATES[name], f"for {name}")
        suiting["training.embedding_rate"] = Choice("training.embedding_rate", 1.0, "")
    adam = "adam" in (phase.optimizer for phase in recipe.training.phases)
    if adam or name not in ("adamw", "muon"):  # which alone keep the decay apart from the gradient
        suiting["training.weight_decay"] = Choice("training.weight_decay", 0.0, "")
    return [suiting.get(one.path, one) for one in choices]
