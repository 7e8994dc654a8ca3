"""Posterior attention: the token that was written says which source positions it came from."""

import torch
from tests.models.test_rnn import model_of

from dragoman.laws.examples import source, target


def logits_after(decoder: str, token: int) -> torch.Tensor:
    """Return the logits of the second token after `token`, where the embeddings of all tokens are the same."""
    torch.manual_seed(3)
    model = model_of(decoder=decoder)
    model.decoder.embedding.weight.data[:] = model.decoder.embedding.weight.data[5]
    tokens = target(2, 3)
    tokens[:, 1] = token
    return model(source([5, 3]), tokens).logits[:, 1]


def test_a_token_decides_by_where_it_came_from_and_not_by_its_embedding_alone() -> None:
    assert not torch.allclose(logits_after("posterior", 7), logits_after("posterior", 8), atol=1e-5)
    torch.testing.assert_close(logits_after("luong", 7), logits_after("luong", 8))


def test_the_first_context_is_zero_whatever_the_first_token() -> None:
    model = model_of(decoder="posterior")
    state = model.decoder.start(model.encoder(source([5, 3])))
    for token in (1, 9):
        weights = model.decoder.head.posterior(state.past.fed, torch.full((2,), token))
        assert weights.shape == (2, 5) and not weights.any()


def test_later_positions_are_judged_by_how_well_they_predict_the_token() -> None:
    model = model_of(decoder="posterior")
    encoded = model.encoder(source([5, 3]))
    output, after = model.decoder(target(2, 2), model.decoder.start(encoded), need_weights=True)
    prior, head, token = output.attention[:, 0, 0, -1], model.decoder.head, torch.tensor([7, 8])
    weights = head.posterior(after.past.fed, token)
    size = head.output.weight.shape[1] + 1
    parts = after.past.fed.unflatten(-1, (-1, size))[..., :-1]
    likelihood = head.output(parts).softmax(-1).gather(-1, token[:, None, None].expand(-1, 5, 1)).squeeze(-1)
    expected = prior * likelihood
    torch.testing.assert_close(weights, expected / expected.sum(-1, keepdim=True))
    assert not weights[1, 3:].any()  # padding


def test_probabilities_add_up_to_one() -> None:
    logits = model_of(decoder="posterior")(source([5, 3]), target(2, 4)).logits
    torch.testing.assert_close(logits.exp().sum(-1), torch.ones(2, 4))
