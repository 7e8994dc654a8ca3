"""The choice of a device."""

import pytest
import torch

from dragoman.devices import choose_device
from dragoman.errors import InputError


@pytest.mark.parametrize(
    ("wish", "gpu", "device"),
    [("auto", False, "cpu"), ("auto", True, "cuda"), ("cpu", True, "cpu"), ("cuda", True, "cuda")],
)
def test_a_gpu_is_taken_where_it_is_wanted_and_there(monkeypatch: pytest.MonkeyPatch, wish, gpu, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert choose_device(wish).type == device


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="`cuda` was asked for, but no GPU can be used here; choose `cpu` or `auto`"):
        choose_device("cuda")


def test_an_unknown_device_is_refused():
    with pytest.raises(InputError, match="there is no device `tpu`; choose auto, cpu or cuda"):
        choose_device("tpu")
