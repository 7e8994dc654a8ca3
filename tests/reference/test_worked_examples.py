"""The worked examples that learners know, in their right form (see `docs/errata.md`)."""

import pytest
import torch
from torch import Tensor

from dragoman.attention import masks
from dragoman.attention.attend import attend, attend_scaled_dot, masked_softmax
from dragoman.attention.scores import Dot, ScaledDot, build_score
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import Padded
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Vocabularies

VALUES = torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
LENGTHS = torch.tensor([2, 6])
AVERAGES = torch.tensor([[[2.0, 3, 4, 5]], [[10.0, 11, 12, 13]]])


def test_masked_softmax_takes_one_length_per_example() -> None:
    scores = torch.rand(2, 2, 4, generator=torch.Generator().manual_seed(1))
    weights = masked_softmax(scores, masks.from_lengths(torch.tensor([2, 3]), 4))
    assert weights.shape == (2, 2, 4)
    assert (weights[0, :, 2:] == 0).all() and (weights[1, :, 3:] == 0).all()
    assert (weights[0, :, :2] > 0).all() and (weights[1, :, :3] > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2))


def test_masked_softmax_takes_one_length_per_query() -> None:
    lengths = torch.tensor([[1, 3], [2, 4]])
    weights = masked_softmax(torch.zeros(2, 2, 4), masks.from_lengths(lengths, 4))
    assert (weights > 0).sum(-1).tolist() == lengths.tolist()
    torch.testing.assert_close(weights.max(-1).values, 1 / lengths)


def test_masked_softmax_without_a_mask_sees_all_keys() -> None:
    torch.testing.assert_close(masked_softmax(torch.zeros(2, 2, 4)), torch.full((2, 2, 4), 0.25))


def test_a_batched_dot_product_of_ones() -> None:
    assert torch.equal(Dot()(torch.ones(2, 1, 3), torch.ones(2, 2, 3)), torch.full((2, 1, 2), 3.0))


@pytest.mark.parametrize(("name", "query_dim"), [("scaled_dot", 2), ("additive", 20)])
def test_pooling_over_equal_keys_averages_the_values_in_sight(name: str, query_dim: int) -> None:
    torch.manual_seed(1)
    attention = SingleHead(build_score(name, query_dim, 2, hidden=8, positions=10), query_dim, dropout=0.5).eval()
    queries = torch.ones(2, 1, 2) if name == "scaled_dot" else torch.randn(2, 1, 20)
    memory = attention.prepare(torch.ones(2, 10, 2), VALUES)
    attended = attention(queries, memory, masks.from_lengths(LENGTHS, 10), need_weights=True)
    torch.testing.assert_close(attended.context, AVERAGES)
    assert attended.weights.shape == (2, 1, 1, 10)


def test_the_fused_kernel_averages_the_values_in_sight() -> None:
    keys = torch.ones(2, 10, 2)
    context = attend_scaled_dot(torch.ones(2, 1, 2), keys, VALUES, mask=masks.from_lengths(LENGTHS, 10))
    torch.testing.assert_close(context, AVERAGES)


@pytest.mark.parametrize("fused", [True, False])
def test_a_query_that_sees_nothing_gets_zeros_and_a_gradient_of_zeros(fused: bool) -> None:
    queries, keys = (torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(s)).requires_grad_() for s in (1, 2))
    mask = masks.from_lengths(torch.tensor([0, 2]), 3)
    if fused:
        context = attend_scaled_dot(queries, keys, keys, mask=mask)
    else:
        context, weights = attend(ScaledDot()(queries, keys), keys, mask)
        assert not weights[0].any()
    assert not context[0].any() and context[1].all()
    context.square().sum().backward()
    for tensor in (queries, keys):
        assert tensor.grad is not None and tensor.grad.isfinite().all()
        assert not tensor.grad[0].any() and tensor.grad[1].any()


@pytest.mark.parametrize("fused", [True, False])
def test_the_output_of_a_padded_query_is_zero(fused: bool) -> None:
    queries, keys = torch.ones(2, 3, 2), torch.ones(2, 10, 2)
    real = torch.tensor([[True, True, False], [True, False, False]])
    mask = masks.of_real_queries(real, masks.from_lengths(LENGTHS, 10))
    if fused:
        context = attend_scaled_dot(queries, keys, VALUES, mask=mask)
    else:
        context, weights = attend(ScaledDot()(queries, keys), VALUES, mask)
        torch.testing.assert_close(weights.sum(-1), real.float())
    torch.testing.assert_close(context, AVERAGES.expand(2, 3, 4) * real[:, :, None])


def test_the_three_masks_are_three_things() -> None:
    padding = masks.to_source(torch.tensor([[True, True, False]]))
    future = masks.causal(3, 3)
    assert padding.int().tolist() == [[[1, 1, 0]]]
    assert future.int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    both = masks.of_real_queries(torch.tensor([[True, True, False]]), padding & future)
    assert both.int().tolist() == [[[1, 0, 0], [1, 1, 0], [0, 0, 0]]]


def test_the_printed_queries_and_keys_give_these_weights_and_this_output() -> None:
    query = [[1.6889378, -2.1054077], [-1.3970122, -1.2317009], [-0.8323478, 2.8157258]]
    key = [[-0.1563865, -1.0208571], [1.0360996, 2.7422607], [-1.2121758, 0.51843137]]
    queries, keys, values = torch.tensor(query), torch.tensor(key), torch.arange(6.0).reshape(3, 2)
    context, weights = attend(ScaledDot()(queries, keys), values)
    expected = [[0.95787, 0.01468, 0.02745], [0.57008, 0.00662, 0.42330], [0.00107, 0.95605, 0.04288]]
    torch.testing.assert_close(weights, torch.tensor(expected), rtol=0, atol=1e-5)
    output = [[0.13914, 1.13914], [1.70645, 2.70645], [2.08361, 3.08361]]
    torch.testing.assert_close(context, torch.tensor(output), rtol=0, atol=1e-5)


def test_the_first_of_seven_words_attends_to_them_by_their_dot_products() -> None:
    words = torch.tensor(
        [
            [0.2, 0.5, -0.3],
            [-0.1, 0.7, 0.2],
            [0.4, -0.2, 0.6],
            [-0.5, 0.3, -0.1],
            [0.2, 0.5, -0.3],
            [0.3, 0.1, 0.8],
            [0.0, 0.0, 0.0],
        ]
    )
    weights = masked_softmax(Dot()(words, words))[0]
    expected = torch.tensor([0.1825, 0.1634, 0.1022, 0.1352, 0.1825, 0.1096, 0.1248])
    torch.testing.assert_close(weights, expected, rtol=0, atol=5e-5)


def test_shapes_of_the_textbook_bahdanau_model() -> None:
    settings = RecurrentSettings(embedding=8, hidden=16, layers=2, bidirectional=False, deep_output=False, dropout=0.0)
    model = build_rnn(settings, Vocabularies(10, 10)).eval()
    ids: Tensor = torch.zeros(4, 7, dtype=torch.int64)
    state = model.decoder.start(model.encoder(Padded(ids, torch.ones(4, 7, dtype=torch.bool))))
    output, after = model.decoder(ids, state)
    assert output.logits.shape == (4, 7, 10)
    assert state.source.memory.values[:, 0].shape == (4, 7, 16)
    assert after.past.hidden[0].transpose(0, 1).shape == (2, 4, 16)
