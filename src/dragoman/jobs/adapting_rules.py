"""Conditions under which settings of training on from a run have an effect, for `jobs/rules.py`."""

from dragoman.runs.rules import Rule

ADAPTING = (
    Rule(
        "model.adapters",
        lambda _, model: model.start_from is not None and model.start_from.whole is not None,
        "corrects the weights of a trained run, but none is given",
        remedy="set `model.start_from.whole`",
    ),
    Rule(
        "training.frozen",
        lambda recipe, _: getattr(recipe.model, "start_from", None) is not None,
        "keeps weights that another run has learned, but none is given",
        remedy="set `model.start_from`, or `training.frozen: none`",
    ),
    Rule(
        "training.frozen",
        lambda recipe, _: getattr(recipe.model, "adapters", None) is None,
        "adds nothing to `model.adapters`, which freezes all weights",
    ),
)
"""Rules on what is trained of a run that training starts from."""
