"""The choice of a device."""

import subprocess
import sys

import pytest
import torch

from dragoman.errors import InputError
from dragoman.machine.devices import choose_device

GROWING = """
import torch
from dragoman.machine.devices import peak_memory
before = peak_memory(torch.device("cpu"))
ballast = torch.ones(before // 4 + 20_000_000)
print(before, peak_memory(torch.device("cpu")))
"""


@pytest.mark.parametrize(
    ("requested", "gpu", "device"),
    [("auto", False, "cpu"), ("auto", True, "cuda"), ("cpu", True, "cpu"), ("cuda", True, "cuda")],
)
def test_a_gpu_is_taken_where_it_is_wanted_and_there(monkeypatch: pytest.MonkeyPatch, requested, gpu, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert choose_device(requested).type == device


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"`cuda` .* no GPU .* choose `cpu` or `auto`"):
        choose_device("cuda")


def test_an_unknown_device_is_refused():
    with pytest.raises(InputError, match="`tpu`; choose auto, cpu or cuda"):
        choose_device("tpu")


def test_the_most_memory_taken_is_known_in_bytes():
    done = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert before > 50e6 and after >= before + 50e6
