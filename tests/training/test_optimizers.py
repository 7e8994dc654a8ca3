"""Optimisers and what they decay."""

from typing import Any

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES, fresh_model
from torch.optim import Adam, AdamW

from dragoman.training.optimizers import build_optimizer
from dragoman.training.settings import TrainingSettings


def decayed_names(architecture: str) -> tuple[set[str], set[str]]:
    """Names of parameters with weight decay, and without."""
    model = fresh_model(ARCHITECTURES[architecture])
    optimizer = build_optimizer(model, TrainingSettings(steps=1, weight_decay=0.1))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found: dict[float, set[str]] = {0.1: set(), 0.0: set()}
    for group in optimizer.param_groups:
        found[group["weight_decay"]] |= {names[id(parameter)] for parameter in group["params"]}
    assert found[0.1] | found[0.0] == set(names.values())
    return found[0.1], found[0.0]


def test_matrices_decay_and_biases_norms_and_embeddings_do_not() -> None:
    decayed, others = decayed_names("transformer post-norm, learned")
    assert "encoder.layers.0.attention.query.weight" in decayed
    assert "encoder.layers.0.feed_forward.inner.weight" in decayed
    assert {"encoder.embedding.weight", "encoder.positions.table.weight"} <= others
    assert all(name.endswith("weight") for name in decayed)
    assert all("norm" in name or "bias" in name or "embedding" in name or "positions" in name for name in others)


def test_a_tied_output_layer_is_an_embedding_and_an_untied_one_decays() -> None:
    _, others = decayed_names("bahdanau, two lstm layers, tied")
    assert "decoder.embedding.weight" in others
    decayed, _ = decayed_names("bahdanau gru additive")
    assert {"decoder.head.weight", "decoder.stack.stack.weight_hh_l0"} <= decayed


@pytest.mark.parametrize(("name", "kind"), [("adam", Adam), ("adamw", AdamW)])
def test_settings_reach_the_optimiser(name: Any, kind: type) -> None:
    settings = TrainingSettings(steps=1, optimizer=name, learning_rate=0.25, betas=(0.5, 0.75), epsilon=1e-3)
    optimizer = build_optimizer(torch.nn.Linear(2, 2), settings)
    assert type(optimizer) is kind
    for group in optimizer.param_groups:
        assert (group["lr"], group["betas"], group["eps"]) == (0.25, (0.5, 0.75), 1e-3)
