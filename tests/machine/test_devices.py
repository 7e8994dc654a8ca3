"""The choice of a device."""

import warnings
from typing import Any

import pytest
import torch

from dragoman.errors import InputError
from dragoman.machine import devices
from dragoman.machine.devices import choose_device


@pytest.mark.parametrize(
    ("requested", "gpu", "device"),
    [("auto", False, "cpu"), ("auto", True, "cuda"), ("cpu", True, "cpu"), ("cuda", True, "cuda")],
)
def test_a_gpu_is_taken_where_it_is_wanted_and_there(monkeypatch: pytest.MonkeyPatch, requested, gpu, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert choose_device(requested).type == device


@pytest.mark.parametrize(("requested", "named"), [("gpu", "`gpu`"), (torch.device("cpu"), r"`device\(type='cpu'\)`")])
def test_a_device_is_named_by_a_word(requested: Any, named: str) -> None:
    with pytest.raises(InputError, match=rf"unknown device {named}; choose auto, cpu or cuda"):
        choose_device(requested)


def test_a_gpu_builds_no_plan_for_each_new_shape_of_a_batch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(True)
    try:
        choose_device("cpu")
        assert torch.backends.cuda.cudnn_sdp_enabled()
        choose_device("auto")
        assert not torch.backends.cuda.cudnn_sdp_enabled()
        warnings.warn(
            "Attempting to run cuBLAS, but there was no current CUDA context! Attempting to ...", stacklevel=1
        )
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"`cuda` .* no GPU .* choose `cpu` or `auto`"):
        choose_device("cuda")


def test_an_unknown_device_is_refused():
    with pytest.raises(InputError, match="`tpu`; choose auto, cpu or cuda"):
        choose_device("tpu")


def test_the_most_memory_taken_is_that_of_this_process_or_of_the_gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(devices, "peak_resident_memory", lambda: 7_000_000)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 9_000_000)
    assert [devices.peak_memory(torch.device(kind)) for kind in ("cpu", "cuda")] == [7_000_000, 9_000_000]
