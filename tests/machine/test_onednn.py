"""What oneDNN keeps."""

import os
import subprocess
import sys

import pytest

from dragoman.machine.onednn import bound_caches

GROWTH = """
import torch
from dragoman.machine.memory import resident_memory
weight = torch.zeros(512, 512, dtype=torch.bfloat16)
weight @ weight
before = resident_memory()
for rows in range(2, 402):
    torch.zeros(rows, 512, dtype=torch.bfloat16) @ weight
print(resident_memory() - before)
"""
"""Prints by how many bytes a process grows while it computes products of 400 shapes."""


def test_the_caches_are_bounded() -> None:
    environment: dict[str, str] = {}
    bound_caches(environment)
    assert environment == {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}


@pytest.mark.parametrize(
    "name", ["ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"]
)
def test_what_the_user_set_stays(name: str) -> None:
    environment = {name: "7"}
    bound_caches(environment)
    assert environment[name] == "7"
    assert len(environment) == 2


def test_products_of_many_shapes_take_less_memory() -> None:
    environment = {name: value for name, value in os.environ.items() if "CACHE_CAPACITY" not in name}
    free = _growth(environment)
    if free < 100e6:
        pytest.skip("oneDNN does not compute products of bfloat16 on this processor")
    bound_caches(environment)
    assert _growth(environment) < free / 2


def _growth(environment: dict[str, str]) -> int:
    """Return by how many bytes a process with this environment grows."""
    command = [sys.executable, "-c", GROWTH]
    return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
