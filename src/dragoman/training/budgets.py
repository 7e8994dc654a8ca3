"""Budgets of steps, epochs, minutes, tokens and FLOPs; training ends when the first is used up."""

from collections.abc import Mapping

from dragoman.errors import TrainingError

BUDGETS = ("steps", "epochs", "minutes", "tokens", "flops")
"""Settings of the section `training` that are budgets; at least one must be given."""


def shares(budgets: Mapping[str, int | float | None], used: Mapping[str, int | float]) -> dict[str, float]:
    """Return the used share of each given budget; above 1 if a step exceeded it.

    >>> shares({"steps": 10, "minutes": None}, {"steps": 4, "minutes": 3.0})
    {'steps': 0.4}
    """
    return {name: used[name] / budget for name, budget in budgets.items() if budget}


def check_first_step(budgets: Mapping[str, int | float | None], used: Mapping[str, int | float]) -> None:
    """Raise TrainingError if a single step exceeded a budget."""
    name, share = max(shares(budgets, used).items(), key=lambda item: item[1])
    if share > 1:
        raise TrainingError(
            f"the budget `training.{name}: {budgets[name]:g}` is too small for one step, which takes {used[name]:,.6g}; set a "
            f"larger training.{name}, or smaller steps with training.batch_tokens"
        )
