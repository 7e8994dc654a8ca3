"""Attention without padding is masked attention, with a plain loop in the place of the GPU's kernel."""

import pytest
import torch
from torch import Tensor

from dragoman.attention import multi_head, packed
from dragoman.attention.attend import attend, attend_scaled_dot
from dragoman.attention.masks import causal, from_lengths
from dragoman.attention.multi_head import MultiHead
from dragoman.attention.packed import attend_packed, can_pack, kernel_works
from dragoman.attention.relative import build_relative
from dragoman.machine.compute_plan import ComputePlan, adopt
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer import build_transformer
from dragoman.models.transformer_settings import TransformerSettings

CPU = torch.device("cpu")


class Loop(torch.autograd.Function):
    """The kernel: sentence by sentence. Where no sentence is, it leaves what happened to stand there, in gradients too."""

    @staticmethod
    def forward(ctx, queries, keys, values, query_ends, key_ends):
        ctx.save_for_backward(queries, keys, values, query_ends, key_ends)
        return computed(queries, keys, values, query_ends, key_ends)

    @staticmethod
    def backward(ctx, *gradients):
        *given, query_ends, key_ends = ctx.saved_tensors
        with torch.enable_grad():
            own = [one.detach().clone().requires_grad_() for one in given]
            context = computed(*own, query_ends, key_ends)
            alive = context.isfinite()
            found = torch.autograd.grad(context[alive], own, gradients[0][alive])
        for one, ends in zip(found, (query_ends, key_ends, key_ends), strict=True):
            one[int(ends[-1]) :] = torch.nan
        for first, last, empty in zip(query_ends, query_ends[1:], key_ends.diff() == 0, strict=False):
            if empty:
                found[0][first:last] = torch.nan
        return *found, None, None


def computed(queries: Tensor, keys: Tensor, values: Tensor, query_ends: Tensor, key_ends: Tensor) -> Tensor:
    parts = []
    for at in range(len(query_ends) - 1):
        asked = queries[query_ends[at] : query_ends[at + 1]]
        key, value = (one[key_ends[at] : key_ends[at + 1]].transpose(0, 1) for one in (keys, values))
        scores = asked.transpose(0, 1) @ key.mT / queries.shape[-1] ** 0.5
        parts.append(attend(scores, value)[0].transpose(0, 1) if len(key[0]) else torch.full_like(asked, torch.nan))
    return torch.cat(parts)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Put the loop in the kernel's place; gives the longest lengths that it was called with."""
    calls: list[tuple[int, int]] = []

    def loop(
        queries: Tensor, keys: Tensor, values: Tensor, query_ends: Tensor, key_ends: Tensor, most: int, widest: int
    ) -> Tensor:
        assert query_ends.dtype == key_ends.dtype == torch.int32
        assert query_ends.diff().max() <= most and key_ends.diff().max() <= widest
        calls.append((most, widest))
        return Loop.apply(queries, keys, values, query_ends, key_ends)

    monkeypatch.setattr(packed, "_kernel", lambda: loop)
    return calls


def numbers(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("lengths", [[5, 2, 0, 1], [0, 0, 5, 5], [3, 3, 3, 3]])
def test_without_padding_averages_and_gradients_are_those_of_the_mask(
    lengths: list[int], kernel: list[tuple[int, int]]
) -> None:
    mask = from_lengths(torch.tensor(lengths), 5)[:, None]
    results = []
    for way in (
        lambda q, k, v: attend_packed(q, k, v, real=mask[:, 0, 0]),
        lambda q, k, v: attend_scaled_dot(q, k, v, mask=mask),
    ):
        own = [numbers(4, 2, count, 8, seed=count + at).requires_grad_() for at, count in enumerate((3, 5, 5))]
        context = way(*own)
        results.append([context, *torch.autograd.grad((context * numbers(4, 2, 3, 8)).sum(), own)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    assert kernel == [(3, 5)]


def test_real_keys_may_stand_anywhere_and_one_mask_may_serve_all_rows(kernel: list[tuple[int, int]]) -> None:
    queries, keys, values = (numbers(3, 2, 4, 8, seed=seed) for seed in range(3))
    mask = torch.tensor([[[[True, False, True, False]]]])
    expected = attend_scaled_dot(queries, keys, values, mask=mask)
    torch.testing.assert_close(attend_packed(queries, keys, values, real=mask[:, 0, 0]), expected)


def test_a_transformer_gives_the_same_without_padding(
    kernel: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.laws.examples import batch
    from dragoman.training.objectives import translation_loss

    torch.manual_seed(1)
    settings = TransformerSettings(width=16, feed_forward=16, heads=2, encoder_layers=1, decoder_layers=1)
    model, pairs, found = (
        build_transformer(settings, Vocabularies(19, 19, shared=True)).eval(),
        batch([5, 3], [4, 6]),
        [],
    )
    for packs in (False, True):
        monkeypatch.setattr(multi_head, "can_pack", lambda queries, values, mask: mask.shape[2] == 1)
        adopt(model, ComputePlan(packed=packs))
        model.zero_grad()
        loss = translation_loss(model, pairs)
        loss.total.backward()
        found.append([loss.total, *(parameter.grad for parameter in model.parameters())])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
    assert kernel == [(5, 5), (5, 5)], (
        "the encoder's own attention, and that to the source; the causal one needs no mask"
    )


def test_dropout_of_weights_and_other_scores_take_the_mask(
    kernel: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multi_head, "can_pack", lambda queries, values, mask: True)
    mask = from_lengths(torch.tensor([2, 1]), 3)
    for attention, wanted in (
        (MultiHead(16, 2, dropout=0.5), False),
        (MultiHead(16, 2, score="additive"), False),
        (MultiHead(16, 2, relative=build_relative("t5", heads=2, head_dim=8, causal=False)), False),
        (MultiHead(16, 2).eval(), True),
    ):
        adopt(attention, ComputePlan(packed=True))
        states = numbers(2, 3, 16)
        attention.train()(states, attention.prepare(states, states), mask, need_weights=wanted)
    assert kernel == []


def test_nothing_is_packed_on_a_cpu() -> None:
    states, mask = numbers(2, 2, 3, 8).bfloat16(), from_lengths(torch.tensor([2, 1]), 3)[:, None]
    assert not can_pack(states, states, mask)


def test_only_what_the_kernel_takes_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        def __init__(self, width: int, dtype: torch.dtype) -> None:
            self.shape, self.dtype, self.device = torch.Size([2, 2, 3, width]), dtype, torch.device("cuda")

    monkeypatch.setattr(packed, "matmul_dtype", lambda states: states.dtype)
    plain = can_pack.__wrapped__ if hasattr(can_pack, "__wrapped__") else can_pack
    mask = from_lengths(torch.tensor([2, 1]), 3)[:, None]

    def takes(width: int, dtype: torch.dtype, mask: Tensor) -> bool:
        return plain(Elsewhere(width, dtype), Elsewhere(width, dtype), mask)

    assert takes(8, torch.bfloat16, mask) and takes(256, torch.float16, mask)
    assert (
        not takes(8, torch.float32, mask)
        and not takes(12, torch.bfloat16, mask)
        and not takes(264, torch.bfloat16, mask)
    )
    assert not takes(8, torch.bfloat16, causal(3, 3)[None])


def test_a_kernel_is_tried_before_it_is_trusted(kernel: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_works(CPU), "the loop gives what the mask gives"
    monkeypatch.setattr(packed, "_kernel", lambda: lambda queries, *rest: queries)
    assert not kernel_works(CPU), "a kernel that gives something else"
    monkeypatch.undo()
    assert not kernel_works(CPU), "a CPU has no such kernel"
