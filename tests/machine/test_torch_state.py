"""What torch keeps for a whole process."""

import pytest
import torch

from dragoman.machine.torch_state import random_numbers_restored, undisturbed, usual_torch


@pytest.fixture
def odd_torch():
    """Let torch make tensors of another dtype on another device."""
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)


def test_defaults_are_the_usual_ones_within_and_the_callers_after(odd_torch):
    for error in (None, ValueError):
        with pytest.raises(ValueError) if error else usual_torch(), usual_torch():
            made = torch.ones(1)
            assert (made.dtype, made.device.type) == (torch.float32, "cpu")
            if error:
                raise error
        made = torch.ones(1)
        assert (made.dtype, made.device.type) == (torch.float64, "meta")


def test_undisturbed_products_are_those_of_whoever_set_nothing(odd_torch):
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode(), undisturbed():
        made = torch.ones(2, 2, dtype=torch.float32)
        assert ((made @ made).dtype, made.device.type) == (torch.float32, "cpu")
        assert torch.is_inference_mode_enabled()
    assert torch.ones(1).device.type == "meta"


def test_the_callers_random_numbers_go_on():
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with random_numbers_restored():
        torch.manual_seed(2)
        torch.rand(5)
    assert torch.equal(torch.rand(3), expected)


def test_gradients_are_computed_and_nothing_is_rounded_within():
    weight = torch.ones(2, 2, requires_grad=True)
    for left in (torch.no_grad(), torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16)):
        with left, usual_torch():
            made = weight @ weight
            assert made.requires_grad and made.dtype == torch.float32


def test_an_autocast_within_forgets_at_its_end_what_it_rounded():
    layer = torch.nn.Linear(4, 4, bias=False)
    with usual_torch():
        for value in (1.0, 2.0):
            layer.weight.data.fill_(value)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert layer(torch.ones(2, 4)).eq(4 * value).all()
