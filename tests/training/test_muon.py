"""Muon in the arithmetic that the machine is fast in. That it is torch's otherwise is tested in `test_optimizers`."""

import pytest
import torch

from dragoman.training.muon import QUINTICS, PreciseMuon, orthogonalize


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4), (3, 5, 8)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, ...]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    turned = orthogonalize(matrices, QUINTICS, 1e-7)
    values = torch.linalg.svdvals(turned)
    assert values.min() > 0.4 and values.max() < 1.6
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    between = left.mT @ turned @ right.mT
    torch.testing.assert_close(between, torch.diag_embed(between.diagonal(dim1=-2, dim2=-1)), rtol=0, atol=1e-3)


def test_a_step_decays_weights_and_skips_what_has_no_gradient() -> None:
    moved, still = (torch.nn.Parameter(torch.ones(4, 4)) for _ in range(2))
    moved.grad = torch.zeros(4, 4)
    PreciseMuon([moved, still], lr=0.1, weight_decay=0.5, products=torch.float32).step()
    torch.testing.assert_close(moved.detach(), torch.full((4, 4), 0.95))
    assert torch.equal(still.detach(), torch.ones(4, 4))


def test_the_size_of_a_step_does_not_depend_on_that_of_the_gradient() -> None:
    steps = []
    for factor in (1.0, 1000.0):
        weight = torch.nn.Parameter(torch.zeros(4, 8))
        weight.grad = factor * torch.randn(4, 8, generator=torch.Generator().manual_seed(2))
        PreciseMuon([weight], lr=0.1, weight_decay=0.0, products=torch.float32).step()
        steps.append(weight.detach().clone())
    torch.testing.assert_close(steps[0], steps[1], rtol=1e-3, atol=1e-5)
