"""A model computes as the plan that it was given says."""

import torch
from torch import nn

from dragoman.layers.dropout import Dropout
from dragoman.layers.recurrent import RecurrentStack
from dragoman.machine.compute_plan import DEFAULT, ComputePlan, adopt


def test_parts_that_can_compute_in_more_than_one_way_get_the_plan_and_others_nothing() -> None:
    model, plan = (
        nn.Sequential(RecurrentStack("gru", 2, 3, layers=1, dropout=0.0), Dropout(0.5)),
        ComputePlan(native=True),
    )
    assert model[0].plan == DEFAULT and not DEFAULT.native
    adopt(model, plan)
    assert model[0].plan is plan and not hasattr(model[1], "plan")
    assert model[0].can_fuse(torch.zeros(1, 2, 2)) and not model[0].can_fuse(torch.zeros(1, 1, 2))


def test_two_models_may_compute_differently() -> None:
    one, other = RecurrentStack("gru", 2, 3, layers=1, dropout=0.0), RecurrentStack("gru", 2, 3, layers=1, dropout=0.0)
    adopt(one, ComputePlan(native=True))
    assert one.plan.native and not other.plan.native
