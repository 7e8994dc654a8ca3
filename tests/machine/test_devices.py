"""The choice of a device."""

import pytest
import torch

from dragoman.errors import InputError
from dragoman.machine.devices import choose_device, peak_memory


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
    before = peak_memory(torch.device("cpu"))
    assert before is not None and before > 50e6
    ballast = torch.ones(int(before // 4) + 20_000_000)
    after = peak_memory(torch.device("cpu"))
    assert after is not None and after >= before + 50e6 and ballast.sum() > 0
