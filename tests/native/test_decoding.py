"""What search does in C++. That it is what torch does is tested in `tests/reference/test_native_decoding.py`."""

import torch

from dragoman.native.decoding import PANEL, in_panels


def test_a_weight_is_laid_out_by_panels_of_outputs() -> None:
    weight = torch.arange(2.0 * PANEL * 3).view(2 * PANEL, 3)
    panels = in_panels(weight)
    assert panels.shape == (2, 3, PANEL) and panels.is_contiguous()
    assert torch.equal(panels.transpose(1, 2).flatten(0, 1), weight)


def test_missing_outputs_of_the_last_panel_are_zeros() -> None:
    panels = in_panels(torch.ones(PANEL + 1, 2))
    assert panels.shape == (2, 2, PANEL)
    assert panels[1, :, 0].all() and not panels[1, :, 1:].any()
