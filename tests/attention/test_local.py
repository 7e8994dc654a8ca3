"""Windows of local attention. Their equations are tested in `tests/reference`."""

import torch

from dragoman.attention.local import Window
from dragoman.attention.settings import WindowSettings


def everything(keys: int) -> torch.Tensor:
    return torch.ones(1, 1, 1, keys, dtype=torch.bool)


def test_the_window_of_a_long_target_stays_at_the_end_of_the_source() -> None:
    window = Window(WindowSettings(kind="monotonic", reach=1), 4)
    mask, gaussian = window(torch.zeros(1, 1, 2, 4), everything(5), offset=7)
    assert gaussian is None
    assert mask[0, 0].tolist() == [[False, False, False, True, True]] * 2


def test_the_window_follows_the_length_of_each_sentence() -> None:
    real = torch.tensor([[[[True, True, False]]], [[[True, True, True]]]])
    for kind in ("monotonic", "predictive"):
        mask, _ = Window(WindowSettings(kind=kind, reach=1), 4)(torch.randn(2, 1, 3, 4), real, offset=2)
        assert mask.any(-1).all() and not mask[0, ..., 2].any()


def test_a_window_wider_than_the_sentence_sees_all_of_it() -> None:
    for kind in ("monotonic", "predictive"):
        mask, _ = Window(WindowSettings(kind=kind, reach=50), 4)(torch.randn(1, 2, 3, 4), everything(6), offset=0)
        assert mask.all()


def test_the_predicted_position_learns_through_the_gaussian() -> None:
    window = Window(WindowSettings(kind="predictive", reach=2), 4)
    _, gaussian = window(torch.randn(1, 1, 3, 4), everything(6), offset=0)
    assert gaussian is not None
    gaussian.sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in window.parameters())
