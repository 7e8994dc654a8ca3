"""Embeddings and the output layer."""

import pytest
import torch

from dragoman.interfaces import PAD, Head
from dragoman.layers.embedding import OutputLayer, TokenEmbedding, move_padding

IDS = torch.tensor([[4, 5, PAD]])


def test_padding_has_the_zero_vector_and_no_gradient() -> None:
    embedding = TokenEmbedding(8, 4)
    vectors = embedding(IDS)
    vectors.sum().backward()
    assert not vectors[0, 2].any() and vectors[0, :2].all()
    assert not embedding.weight.grad[PAD].any()


def test_scaled_embeddings_have_unit_variance() -> None:
    torch.manual_seed(1)
    embedding = TokenEmbedding(2000, 64)
    vectors = embedding(torch.arange(4, 2000)[None])
    assert vectors.std().item() == pytest.approx(1.0, rel=0.02)
    torch.testing.assert_close(vectors[0, 0], embedding.weight[4] * 8)


def test_an_output_layer_is_a_head() -> None:
    head = OutputLayer(4, 8)
    assert isinstance(head, Head)
    features = torch.randn(2, 3, 4)
    assert head(features).shape == (2, 3, 8)
    torch.testing.assert_close(head(features), features @ head.weight.T + head.bias)


def test_a_tied_output_layer_shares_the_matrix() -> None:
    embedding = TokenEmbedding(8, 4)
    head = OutputLayer(4, 8, embedding)
    assert head.weight is embedding.weight
    assert OutputLayer(4, 8).weight is not embedding.weight


def test_an_output_layer_may_do_without_bias() -> None:
    assert [name for name, _ in OutputLayer(4, 8, bias=False).named_parameters()] == ["weight"]


def test_the_loss_of_a_head_is_that_of_its_logits() -> None:
    head, features, labels = OutputLayer(4, 8), torch.randn(5, 4), torch.tensor([1, 2, 3, 4, 5])
    total, plain = head.loss(features, labels, 0.2)
    torch.testing.assert_close(
        total, torch.nn.functional.cross_entropy(head(features), labels, reduction="sum", label_smoothing=0.2)
    )
    torch.testing.assert_close(
        plain, torch.nn.functional.cross_entropy(head(features), labels, reduction="sum").detach()
    )


@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize("loss", [True, False])
def test_a_start_of_zeros_has_no_gradient_but_that_of_its_bias(loss: bool, zeros: bool) -> None:
    embedding = TokenEmbedding(8, 4)
    move_padding(embedding, 7)
    head, features, labels = OutputLayer(4, 8, embedding), torch.randn(5, 4), torch.tensor([1, 2, 3, 4, 5])
    gradients = []
    for head.start in (None, 7):
        head.zero_grad()
        with torch.no_grad():
            embedding.weight[7] = 0 if zeros else 1
        total = head.loss(features, labels, 0.1)[0] if loss else head(features).log_softmax(-1)[:, 4].sum()
        total.backward()
        gradients.append((embedding.weight.grad.clone(), head.bias.grad.clone()))
    (matrix, bias), (other, of_other) = gradients
    assert matrix[7].all() and torch.equal(matrix[:7], other[:7]) and torch.equal(bias, of_other)
    assert not other[7].any() if zeros else torch.equal(matrix[7], other[7])
