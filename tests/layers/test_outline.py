"""A model without memory has the names and shapes of the model, and building it draws nothing."""

import subprocess
import sys

import pytest
import torch
from tests.architecture.source import ROOT
from tests.laws.architectures import ARCHITECTURES, FAMILIES
from torch import nn

from dragoman.layers.outline import undrawn, without_memory
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies

SIZES = Vocabularies(11, 13)
USUAL = """
import sys
from tests.laws.architectures import ARCHITECTURES
from dragoman.layers.outline import without_memory
from dragoman.models.build import build_model
from dragoman.models.classifier import ClassifierSettings, DocumentClassifier
from dragoman.models.seq2seq import Vocabularies
USUAL = "bahdanau gru additive", "luong dot", "transformer pre-norm, sinusoidal", "transformer, rotary"
with without_memory():
    models = [build_model(ARCHITECTURES[name], Vocabularies(11, 11, True)) for name in USUAL]
    models.append(DocumentClassifier(ClassifierSettings(), 11, 2))
assert all(weight.is_meta for model in models for weight in model.parameters())
print(*(name for name in ("torch._dynamo", "sympy") if name in sys.modules))
"""


@pytest.mark.parametrize("name", FAMILIES)
def test_names_and_shapes_are_those_of_the_model(name: str) -> None:
    settings = ARCHITECTURES[name]
    sizes = Vocabularies(11, 11, True)
    with without_memory():
        outline = build_model(settings, sizes)
    model = build_model(settings, sizes)
    assert {name: one.shape for name, one in outline.named_parameters()} == {
        name: one.shape for name, one in model.named_parameters()
    }
    assert all(one.is_meta for one in outline.parameters())


def test_nothing_is_drawn() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with without_memory():
        nn.init.orthogonal_(nn.Linear(4, 4).weight)
        torch.empty(3).normal_()
        nn.init.uniform_(tensor=torch.empty(3))
    assert torch.get_rng_state().equal(before)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_is_built_without_drawing(name: str) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with undrawn():
        model = build_model(ARCHITECTURES[name], Vocabularies(11, 11, True))
    assert torch.get_rng_state().equal(before)
    assert not any(one.is_meta for one in model.parameters())


def test_values_are_drawn_elsewhere() -> None:
    with without_memory():
        pass
    assert nn.Linear(2, 2).weight.abs().sum() > 0


def test_the_usual_architectures_do_not_need_the_compiler() -> None:
    command = [sys.executable, "-c", USUAL]
    paths = f"{ROOT / 'src'}:{ROOT}"
    done = subprocess.run(command, env={"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
