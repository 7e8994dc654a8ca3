"""Where arithmetic must not round as coarsely as matrix products may."""

import pytest
import torch

from dragoman.machine.dtypes import upcast


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_is_widened(half: torch.dtype) -> None:
    assert upcast(torch.ones(2, dtype=half)).dtype == torch.float32


@pytest.mark.parametrize("whole", [torch.float32, torch.float64])
def test_other_numbers_stay_as_they_are(whole: torch.dtype) -> None:
    numbers = torch.ones(2, dtype=whole)
    assert upcast(numbers) is numbers
