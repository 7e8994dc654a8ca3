"""Every family learns: thirty pairs by heart, in a few seconds."""

import random
from functools import partial
from typing import Literal

import pytest
import torch
from tests.laws.architectures import Architecture, bytenet, convolutional, deep_att, recurrent, transformer
from tests.slow import some

from dragoman.data.collate import collate
from dragoman.decoding import DecodingSettings, beam_search, step_of
from dragoman.interfaces import Batch
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.models.build import build_model
from dragoman.models.gnmt import GnmtSettings
from dragoman.models.moe import MoeSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.training.objectives import translation_loss
from dragoman.training.optimizers import build_optimizer
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step

SIZES = {"embedding": 32, "hidden": 64, "encoder_hidden": 32, "dropout": 0.0}
GATED = ((48, 3), (48, 3))
WIDE = {"width": 48, "feed_forward": 96, "heads": 4, "dropout": 0.0}


def moe(gate: Literal["noisy", "balanced"]) -> MoeSettings:
    """A small recurrent system with experts."""
    experts = ExpertSettings(experts=4, active=2, gate=gate)
    return MoeSettings(width=32, cells=64, expert_hidden=32, dropout=0.0, experts=experts)


QUICK: dict[str, Architecture] = {
    "bahdanau": recurrent(**SIZES),
    "luong": recurrent(decoder="luong", cell="lstm", score="general", **SIZES),
    "transformer": transformer(**WIDE),
    "rotary, cosine, from zeros": transformer(
        relative="rotary", positions="none", self_score="cosine", cross_score="cosine", zero_start=True, **WIDE
    ),
    "moe": moe("balanced"),
    "convs2s": convolutional(
        embedding=32, output_embedding=32, dropout=0.0, encoder_layers=GATED, decoder_layers=GATED
    ),
    "bytenet": bytenet(channels=32, sets=2, dilations=(1, 2, 4), dropout=0.0),
    "deep-att": deep_att(embedding=32, hidden=32, dropout=0.0),
    "gnmt": GnmtSettings(encoder_layers=3, decoder_layers=3, hidden=32, initial_range=None, dropout=0.0),
}
SLOW: dict[str, Architecture] = {
    "gnmt, the paper's first weights": GnmtSettings(encoder_layers=3, decoder_layers=3, hidden=64, dropout=0.0),
    "plain": recurrent(decoder="plain", **SIZES),
    "moe, noisy": moe("noisy"),
    "experts": transformer(experts=ExpertSettings(experts=4, active=2), **WIDE),
    "balanced experts": transformer(experts=ExpertSettings(experts=4, active=2, gate="balanced"), **WIDE),
    "plain lstm": recurrent(decoder="plain", cell="lstm", **SIZES),
    "input feeding": recurrent(decoder="luong", input_feeding=True, score="dot", **SIZES),
    "two layers": recurrent(cell="lstm", layers=2, **SIZES),
    "post-norm": transformer(norm="post", positions="learned", **WIDE),
    "additive transformer": transformer(self_score="additive", cross_score="additive", **WIDE),
    "cosine transformer": transformer(self_score="cosine", cross_score="cosine", **WIDE),
    "location": recurrent(decoder="luong", score="location", **SIZES),
}


def pairs(task: str) -> list[tuple[list[int], list[int]]]:
    """Thirty random sentences with their copies or their mirror images."""
    rng = random.Random(1)
    sources = [[rng.randrange(4, 14) for _ in range(rng.randrange(2, 7))] for _ in range(30)]
    return [(ids, ids[::-1] if task == "reverse" else ids) for ids in sources]


def learn(settings: Architecture, batch: Batch, steps: int) -> tuple[Seq2Seq, float]:
    """Train on one batch until its loss per token is below 0.1; return the model and the last loss."""
    torch.manual_seed(1)
    model = build_model(settings, Vocabularies(14, 14, shared=True))
    optimizer = build_optimizer(model, TrainingSettings(steps=steps, learning_rate=0.006))
    take = partial(train_step, model, translation_loss, optimizer, batches=[batch], clip=1.0, compute=Compute())
    loss = float("inf")
    for _ in range(steps):
        result = take()
        loss = result.total / result.tokens
        if loss < 0.01:
            break
    return model.eval(), loss


def check_that_it_learns(settings: Architecture, task: str, steps: int) -> None:
    """Learn the task by heart and say it all back."""
    examples = pairs(task)
    batch = collate(examples)
    model, loss = learn(settings, batch, steps)
    assert loss < 0.1
    state = model.decoder.start(model.encoder(batch.source))
    limits = torch.full((len(examples),), 10)
    found = beam_search(step_of(model.decoder), state, limits, settings=DecodingSettings(method="greedy"))
    right = sum(best.ids == target for best, (_, target) in zip(found.best(), examples, strict=True))
    assert right >= 28


@pytest.mark.parametrize("name", some(QUICK, list(QUICK)[::4]))
def test_each_family_learns_to_reverse(name: str) -> None:
    check_that_it_learns(QUICK[name], "reverse", 250)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["copy", "reverse"])
@pytest.mark.parametrize("name", SLOW)
def test_every_variant_learns(name: str, task: str) -> None:
    check_that_it_learns(SLOW[name], task, 600)
