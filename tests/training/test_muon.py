"""Muon in the arithmetic that the machine is fast in. That it is torch's otherwise is tested in `test_optimizers`."""

import pytest
import torch

from dragoman.training.muon import PARTS_PER_THREAD, QUINTICS, PreciseMuon, orthogonalize

SHAPES = [(6, 6), (4, 9), (9, 4), (5, 7), (3, 5, 8), (64, 256)]


@pytest.mark.parametrize("shape", SHAPES)
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


def test_what_does_not_learn_any_more_leaves_no_subnormal_numbers() -> None:
    weight = torch.nn.Parameter(torch.ones(8, 4))
    muon = PreciseMuon([weight], lr=0.01, weight_decay=0.0, products=torch.float32)
    tiny, learning = torch.finfo(torch.float32).tiny, torch.randn(8, 4, generator=torch.Generator().manual_seed(3))
    for step in range(1600):
        weight.grad = learning.clone()
        weight.grad[4:] *= step < 2
        before = weight.detach().clone()
        muon.step()
        momentum = muon.state[weight]["momentum_buffer"]
        assert not ((momentum != 0) & (momentum.abs() < tiny)).any()
    assert momentum[4:].eq(0).all() and torch.equal(before[4:], weight[4:])
    assert momentum[:4].ne(0).all() and not torch.equal(before[:4], weight[:4])
    matrix = torch.diag(torch.tensor([1.0, 1e-3, 1e-12]))
    turned = orthogonalize(matrix, QUINTICS, 1e-7)
    assert turned[2].eq(0).all() and turned.diagonal()[1] > 0.1
    weight.grad = torch.full((8, 4), torch.nan)
    muon.step()
    assert weight.isnan().all(), "what is wrong is not hidden"


def test_the_size_of_a_step_does_not_depend_on_that_of_the_gradient() -> None:
    steps = []
    for factor in (1.0, 1000.0):
        weight = torch.nn.Parameter(torch.zeros(4, 8))
        weight.grad = factor * torch.randn(4, 8, generator=torch.Generator().manual_seed(2))
        PreciseMuon([weight], lr=0.1, weight_decay=0.0, products=torch.float32).step()
        steps.append(weight.detach().clone())
    torch.testing.assert_close(steps[0], steps[1], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_quintics_are_applied_one_after_the_other(shape: tuple[int, ...]) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    expected = matrices.double() / matrices.double().norm(dim=(-2, -1), keepdim=True)
    for a, b, c in QUINTICS:
        once = expected @ expected.mT
        expected = a * expected + b * once @ expected + c * once @ once @ expected
    torch.testing.assert_close(orthogonalize(matrices, QUINTICS, 1e-7).double(), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("shape", [(16, 64), (64, 16)])
def test_in_bfloat16_long_matrices_are_turned_nearly_as_exactly(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    stretched = left @ torch.diag(torch.logspace(0, -2, 16)) @ right
    exact, rough = (
        orthogonalize(stretched.to(dtype), QUINTICS, 1e-7).float() for dtype in (torch.float32, torch.bfloat16)
    )
    assert (rough - exact).norm() < 0.06 * exact.norm()


@pytest.mark.parametrize("columns", [3, 6, 24])
def test_matrices_on_top_of_one_another_move_as_if_each_were_alone(columns: int) -> None:
    generator = torch.Generator().manual_seed(4)
    gradients = [10.0**-size * torch.randn(6, columns, generator=generator) for size in (0, 1, 3)]
    together, alone = (
        torch.nn.Parameter(torch.ones(18, columns)),
        [torch.nn.Parameter(torch.ones(6, columns)) for _ in range(3)],
    )
    together.grad = torch.cat(gradients)
    for one, gradient in zip(alone, gradients, strict=True):
        one.grad = gradient
    PreciseMuon([together], lr=0.1, weight_decay=0.5, products=torch.float32, stacked={id(together): 3}).step()
    PreciseMuon(alone, lr=0.1, weight_decay=0.5, products=torch.float32).step()
    torch.testing.assert_close(together.detach(), torch.cat([one.detach() for one in alone]))


def test_a_step_is_the_same_with_any_number_of_threads() -> None:
    generator = torch.Generator().manual_seed(3)
    first = [torch.randn(6, 8 + number, generator=generator) for number in range(2 * PARTS_PER_THREAD)]
    found, before = [], torch.get_num_threads()
    for threads in (1, 2):
        weights = [torch.nn.Parameter(one.clone()) for one in first]
        optimizer = PreciseMuon(weights, lr=0.1, weight_decay=0.1, products=torch.float32)
        torch.set_num_threads(threads)
        try:
            for turn in range(3):
                for weight, start in zip(weights, first, strict=True):
                    weight.grad = start.cos() + turn
                optimizer.step()
        finally:
            torch.set_num_threads(before)
        found.append([weight.detach() for weight in weights])
    assert all(map(torch.equal, *found))
