"""What the laws are tried on: sentences that end, and models whose weights are far from 0."""

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from torch import nn

from dragoman.interfaces import BOS, EOS, PAD, Padded
from dragoman.laws.examples import LENGTHS, VOCABULARY, batch, fresh_model, model_of, source, target

NAMES = pytest.mark.parametrize("name", ["bahdanau, two gru layers", "transformer pre-norm, sinusoidal"])


def all_end(padded: Padded, lengths: list[int]) -> bool:
    """Tell whether each row has its length, words from its first token to the one before </s>, and then padding alone."""
    rows = [row[:length].tolist() for row, length in zip(padded.ids, lengths, strict=True)]
    return (
        padded.mask.sum(1).tolist() == lengths
        and all(mask[:length].all() for mask, length in zip(padded.mask, lengths, strict=True))
        and all(row[-1] == EOS and not {PAD, EOS} & set(row[:-1]) for row in rows)
        and bool((padded.ids[~padded.mask] == PAD).all())
    )


def test_sources_have_the_lengths_asked_for_and_end() -> None:
    made = source(LENGTHS)
    assert all_end(made, LENGTHS)
    assert ((made.ids > EOS) == (made.mask & (made.ids != EOS))).all() and made.ids.max() < VOCABULARY
    assert torch.equal(source(LENGTHS).ids, made.ids) and not torch.equal(source(LENGTHS, seed=2).ids, made.ids)


def test_documents_lack_none_one_or_two_of_the_sentences_before() -> None:
    previous = source([3] * 8).previous
    assert previous is not None
    there = previous.mask.any(-1).tolist()
    assert there == [[True, True], [True, True], [False, True], [False, False]] * 2


def test_targets_begin_and_those_of_a_batch_end_too() -> None:
    begun, pairs = target(4, 6), batch([5, 2], [3, 7])
    assert (begun[:, 0] == BOS).all() and (begun[:, 1:] > EOS).all()
    assert all_end(pairs.source, [5, 2]) and all_end(pairs.target, [3, 7])
    assert (pairs.target.ids[:, 0] == BOS).all()


@NAMES
def test_a_model_is_the_same_at_every_call_and_drops_nothing(name: str) -> None:
    one, other = model_of(ARCHITECTURES[name]), model_of(ARCHITECTURES[name])
    assert not one.training
    logits = [model(source(LENGTHS), target(4, 3)).logits for model in (one, other, one)]
    assert torch.equal(logits[0], logits[1]) and torch.equal(logits[0], logits[2])


@NAMES
def test_its_weights_are_far_from_0_where_those_of_training_begin_small(name: str) -> None:
    def size(model: nn.Module) -> float:
        return float(torch.cat([weight.detach().flatten() for weight in model.parameters() if weight.dim() > 1]).std())

    assert size(model_of(ARCHITECTURES[name])) > 0.6 > size(fresh_model(ARCHITECTURES[name]))
    norms = [module for module in model_of(ARCHITECTURES[name]).modules() if isinstance(module, nn.LayerNorm)]
    assert all(0.5 < float(norm.weight.detach().mean()) < 1.5 for norm in norms)


@NAMES
def test_fresh_models_share_no_weight_but_begin_alike(name: str) -> None:
    one, other = fresh_model(ARCHITECTURES[name]), fresh_model(ARCHITECTURES[name])
    assert one.training
    for weight, same in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(weight, same) and weight is not same
    before = next(model_of(ARCHITECTURES[name]).parameters()).clone()
    nn.init.zeros_(next(one.parameters()))
    assert torch.equal(next(model_of(ARCHITECTURES[name]).parameters()), before)
