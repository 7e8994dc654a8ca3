"""In which arithmetic products are done."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
import torch
from tests.slow import some

from dragoman.errors import InputError
from dragoman.machine import precision
from dragoman.machine.precision import (
    InferencePrecisionName,
    Multiply,
    arithmetic,
    choose_inference_precision,
    choose_training_precision,
    cpu_gain,
    width_of,
)

CPU = torch.device("cpu")


def test_a_wish_is_granted() -> None:
    assert choose_training_precision("float32", CPU) == "float32"
    assert choose_training_precision("bfloat16", CPU) == "bfloat16"


@pytest.mark.parametrize(
    ("gain", "expected"), [(0.2, "float32"), (1.1, "float32"), (1.6, "bfloat16"), (8.0, "bfloat16")]
)
def test_a_cpu_gets_bfloat16_only_where_it_is_faster(
    gain: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "cpu_gain", lambda width: gain)
    assert choose_training_precision("auto", CPU) == expected


def test_a_narrow_model_is_measured_with_narrow_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "cpu_gain", lambda width: 3.0 if width == 512 else 1.0)
    assert [choose_training_precision("auto", CPU, width) for width in (32, 512, 2048)] == [
        "float32",
        "bfloat16",
        "bfloat16",
    ]
    model = torch.nn.Sequential(torch.nn.Embedding(1000, 32), torch.nn.Linear(32, 96))
    assert width_of(model) == 32


@pytest.mark.parametrize("width", some([32, 512], [32]))
def test_the_gain_is_measured(width: int) -> None:
    assert 0.001 < cpu_gain(width) < 1000


@pytest.mark.slow
def test_measuring_leaves_the_random_state_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    cpu_gain()
    assert torch.equal(torch.get_rng_state(), before)


def test_bfloat16_is_for_products_and_weights_stay_float32() -> None:
    layer, states = torch.nn.Linear(4, 4), torch.randn(2, 4)
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        context = arithmetic(name, CPU)
        for _ in range(2):
            with context:
                assert layer(states).dtype == dtype
    assert layer.weight.dtype == torch.float32


def test_weights_that_change_are_rounded_again_also_within_another_autocast() -> None:
    layer, states = torch.nn.Linear(4, 4, bias=False), torch.ones(2, 4)
    with torch.autocast("cpu", enabled=False):
        for value in (1.0, 2.0):
            layer.weight.data.fill_(value)
            with arithmetic("bfloat16", CPU):
                assert layer(states).eq(4 * value).all()


NAMES: tuple[InferencePrecisionName, ...] = ("float32", "bfloat16", "int8")


def chosen(
    requested: str,
    monkeypatch: pytest.MonkeyPatch,
    seconds: Sequence[float] = (),
    *,
    device: torch.device = CPU,
    missing: str = "",
) -> str:
    """Choose among precisions whose products take so many seconds in turn; this machine has not the one that is `missing`."""
    left = iter(seconds)
    monkeypatch.setattr(precision, "_seconds", lambda multiply, inputs: next(left))

    def lay_out(name: str, weight: torch.Tensor) -> Multiply:
        if name == missing:
            raise InputError("this processor does not multiply so")
        return lambda inputs, bias: inputs

    multipliers = {name: partial(lay_out, name) for name in NAMES}
    return choose_inference_precision(requested, device, width=64, multipliers=multipliers)


def test_to_translate_a_wish_is_granted_and_a_gpu_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [chosen(requested, monkeypatch) for requested in NAMES] == list(NAMES)
    assert chosen("auto", monkeypatch, device=torch.device("meta")) == "float32"


@pytest.mark.parametrize(
    ("seconds", "expected"), [((4.0, 3.0, 1.0), "int8"), ((4.0, 1.0, 3.0), "bfloat16"), ((4.0, 3.9, 3.8), "float32")]
)
def test_what_was_measured_to_be_quicker_is_chosen(
    seconds: tuple[float, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chosen("auto", monkeypatch, np.repeat(seconds, 4).tolist()) == expected


def test_what_this_machine_does_not_have_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen("auto", monkeypatch, [4.0] * 4 + [1.0] * 4, missing="int8") == "bfloat16"


def test_products_of_hidden_layers_decide_before_the_output_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [8.0, 8.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0, 2.0, 2.0, 2.0, 2.0]
    assert chosen("auto", monkeypatch, seconds) == "float32"


def test_a_product_is_as_fast_as_its_fastest_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 29.0, *(30.0, 33.0) * 3])
    monkeypatch.setattr(precision.time, "perf_counter", lambda: next(clock))
    multiplied: list[torch.Tensor] = []
    seconds = precision._seconds(lambda inputs, bias: multiplied.append(inputs) or inputs, torch.ones(1))
    assert seconds == 2.0 and len(multiplied) == 6
