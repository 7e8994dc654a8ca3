"""Optimisers and what they decay."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.laws.architectures import ARCHITECTURES
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Muon

from dragoman.errors import TrainingError
from dragoman.laws.examples import VOCABULARY, fresh_model
from dragoman.laws.of_training import trainer_of
from dragoman.training.muon import QUINTICS, PreciseMuon, orthogonalize
from dragoman.training.optimizers import CombinedOptimizer, build_optimizer, set_learning_rate, state_size
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
    assert isinstance(optimizer, kind)
    assert all(group["decoupled_weight_decay"] == (name == "adamw") for group in optimizer.param_groups)
    for group in optimizer.param_groups:
        assert (group["lr"], group["betas"], group["eps"]) == (0.25, (0.5, 0.75), 1e-3)


@pytest.mark.parametrize(("name", "kind"), [("adam", Adam), ("adamw", AdamW)])
def test_quick_steps_are_those_of_torch(name: Any, kind: type) -> None:
    settings = TrainingSettings(steps=1, optimizer=name, learning_rate=0.1, weight_decay=0.1 * (name == "adamw"))
    results = []
    for quick in (True, False):
        torch.manual_seed(1)
        layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))
        optimizer = build_optimizer(layers, settings)
        if not quick:
            optimizer = kind(optimizer.param_groups)
        for step in range(6):
            optimizer.zero_grad()
            used = layers[:1] if step % 3 else layers
            sum(layer(torch.randn(5, 3)).square().sum() for layer in used).backward()
            optimizer.step()
        results.append((list(layers.parameters()), optimizer.state_dict()["state"]))
    (weights, state), (others, other_state) = results
    assert all(torch.equal(a, b) for a, b in zip(weights, others, strict=True))
    assert all(torch.equal(state[at][key], other_state[at][key]) for at in state for key in state[at])


def test_every_group_gets_the_rate() -> None:
    optimizer = SGD([{"params": [nn.Parameter(torch.zeros(1))]} for _ in range(3)], lr=1.0)
    set_learning_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25] * 3


def test_what_adam_updates_beside_muon_has_a_multiple_of_the_rate() -> None:
    model = fresh_model(ARCHITECTURES["transformer post-norm, learned"])
    first = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    def moved(multiple: float) -> dict[str, float]:
        own = deepcopy(model)
        settings = TrainingSettings(steps=1, optimizer="muon", embedding_rate=multiple)
        optimizer = build_optimizer(own, settings)
        optimizer.load_state_dict(optimizer.state_dict())
        set_learning_rate(optimizer, 0.01)
        for parameter in own.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        return {name: (parameter - first[name]).norm().item() for name, parameter in own.named_parameters()}

    once, twice = moved(1.0), moved(2.0)
    ratios = {name: round(twice[name] / once[name], 3) for name in once}
    assert {ratio for name, ratio in ratios.items() if "embedding" in name or "norm" in name} == {2.0}
    assert {ratio for name, ratio in ratios.items() if name.endswith("outer.weight")} == {1.0}


def test_nesterov_has_its_momentum() -> None:
    optimizer = build_optimizer(
        torch.nn.Linear(2, 2), TrainingSettings(steps=1, optimizer="nesterov", momentum=0.99, learning_rate=0.25)
    )
    assert isinstance(optimizer, SGD)
    assert all((g["momentum"], g["nesterov"], g["lr"]) == (0.99, True, 0.25) for g in optimizer.param_groups)


def test_nesterov_without_momentum_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a momentum"):
        TrainingSettings(steps=1, optimizer="nesterov")


def test_weight_decay_that_adam_would_scale_up_is_refused() -> None:
    with pytest.raises(ValueError, match="set it to 0, or choose adamw"):
        TrainingSettings(steps=1, optimizer="adam", weight_decay=0.01)
    assert TrainingSettings(steps=1, optimizer="adamw", weight_decay=0.01).weight_decay == 0.01


@pytest.mark.parametrize("name", ["transformer, nothing tied", "bahdanau, two lstm layers, tied"])
def test_muon_steers_the_matrices_of_hidden_layers_and_adam_the_rest(name: str) -> None:
    model = fresh_model(ARCHITECTURES[name])
    optimizer = build_optimizer(model, TrainingSettings(steps=1, optimizer="muon"))
    assert isinstance(optimizer, CombinedOptimizer)
    muon, adam = optimizer.parts
    assert isinstance(muon, PreciseMuon) and isinstance(adam, AdamW)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    steered, rest = ({names[id(p)] for group in part.param_groups for p in group["params"]} for part in optimizer.parts)
    assert steered | rest == set(names.values()) and not steered & rest
    assert all("embedding" not in one and "head.weight" not in one and "bias" not in one for one in steered)
    assert any("embedding" in one for one in rest) and any("weight" in one for one in steered)


def test_muon_updates_each_expert_by_itself() -> None:
    model = fresh_model(ARCHITECTURES["transformer, experts"])
    muon = build_optimizer(model, TrainingSettings(steps=1, optimizer="muon", weight_decay=0.01)).parts[0]  # type: ignore[attr-defined]
    owned = {id(p) for group in muon.param_groups for p in group["params"]}
    stacks = [p for p in model.parameters() if p.dim() == 3]
    assert stacks and all(id(p) in owned for p in stacks)
    alone = [[torch.nn.Parameter(matrix.detach().clone()) for matrix in stack] for stack in stacks]
    torch.manual_seed(5)
    for stack, matrices in zip(stacks, alone, strict=True):
        stack.grad = torch.randn_like(stack) * torch.logspace(0, -3, len(stack))[:, None, None]
        for matrix, gradient in zip(matrices, stack.grad, strict=True):
            matrix.grad = gradient.clone()
    muon.step()
    given: dict[str, Any] = {"lr": muon.param_groups[0]["lr"], "weight_decay": 0.01, "products": torch.float32}
    PreciseMuon([matrix for matrices in alone for matrix in matrices], **given).step()
    for stack, matrices in zip(stacks, alone, strict=True):
        torch.testing.assert_close(stack.detach(), torch.stack([one.detach() for one in matrices]))


@pytest.mark.parametrize("name", ["transformer, gated", "decoder-only", "deep-att"])
def test_muon_updates_keys_and_values_each_by_themselves(name: str) -> None:
    model = fresh_model(ARCHITECTURES[name])
    optimizer = build_optimizer(model, TrainingSettings(steps=1, optimizer="muon"))
    assert isinstance(optimizer, CombinedOptimizer)
    muon = optimizer.parts[0]
    assert isinstance(muon, PreciseMuon)
    found = {parameter: muon.stacked.get(id(weight), 1) for parameter, weight in model.named_parameters()}
    assert found == {parameter: 2 if parameter.endswith("key_value.weight") else 1 for parameter in found}
    assert (max(found.values()) > 1) == (name != "deep-att")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_muon_leaves_alone_what_is_looked_up_or_predicts_the_vocabulary(name: str) -> None:
    model = fresh_model(ARCHITECTURES[name])
    optimizer = build_optimizer(model, TrainingSettings(steps=1, optimizer="muon"))
    assert isinstance(optimizer, CombinedOptimizer)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for parameter in (one for group in optimizer.parts[0].param_groups for one in group["params"]):
        assert VOCABULARY not in parameter.shape, names[id(parameter)]
        assert not {"embedding", "positions", "relative"} & set(names[id(parameter)].split("."))


def test_optimisers_together_step_each_and_load_what_they_saved() -> None:
    def one_step(optimizer: torch.optim.Optimizer, model: torch.nn.Module) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        torch.manual_seed(3)
        model(torch.randn(5, 4)).square().sum().backward()
        optimizer.step()
        return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    settings = TrainingSettings(steps=1, optimizer="muon", learning_rate=0.1, weight_decay=0.01)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4))
    optimizer = build_optimizer(model, settings)
    before = one_step(optimizer, model)
    saved = deepcopy(optimizer.state_dict())
    assert len(saved["state"]) == len(before), "each parameter has its state"
    fresh = build_optimizer(model, settings)
    fresh.load_state_dict(saved)
    for group in fresh.param_groups:
        group["lr"] = 0.05
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    after = one_step(fresh, model)
    model.load_state_dict(weights)
    for group in optimizer.param_groups:
        group["lr"] = 0.05
    again = one_step(optimizer, model)
    for name, tensor in after.items():
        assert not torch.equal(tensor, before[name])
        torch.testing.assert_close(tensor, again[name], rtol=0, atol=0)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_with_its_quintic_muon_s_steps_are_torch_s(shape: tuple[int, int], together: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    starts = [torch.randn(shape, generator=generator) for _ in range(2)]
    gradients = [[torch.randn(shape, generator=generator) for _ in starts] for _ in range(3)]
    ours, theirs = ([torch.nn.Parameter(start.clone()) for start in starts] for _ in range(2))
    reference = Muon(theirs, lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    group = reference.param_groups[0]
    given = {"lr": 0.1, "weight_decay": 0.1, "quintics": [group["ns_coefficients"]] * group["ns_steps"]}
    own = PreciseMuon(ours, products=torch.bfloat16, **given)
    exact = PreciseMuon([torch.nn.Parameter(start.clone()) for start in starts], products=torch.float32, **given)
    for row in gradients:
        for optimizer in (own, reference, exact):
            for parameter, gradient in zip(optimizer.param_groups[0]["params"], row, strict=True):
                parameter.grad = gradient.clone()
        if together:
            with torch.no_grad():
                own._step(ours, own.param_groups[0])
        else:
            own.step()
        reference.step()
        exact.step()
    for one, other, precise in zip(ours, theirs, exact.param_groups[0]["params"], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=2e-3)
        torch.testing.assert_close(precise, other, rtol=0, atol=1e-2)
    assert all((start - one).abs().max() > 0.03 for start, one in zip(starts, ours, strict=True))


def test_each_quintic_is_the_nearest_to_1_that_there_is() -> None:
    values = torch.cat([torch.logspace(-2.30103, 0, 4001), torch.linspace(0.005, 1, 4001)]).double().sort().values
    for a, b, c in QUINTICS:
        made = a * values + b * values**3 + c * values**5
        error = (made - 1).abs().max()
        extremes = made[(made - 1).abs() > 0.995 * error]
        signs = (extremes > 1).diff().count_nonzero() + 1
        assert signs == 4, (
            "by Chebyshev, the best of three coefficients errs as much in four places, with signs that take turns"
        )
        values = made.sort().values
    assert 0.5 < values.min() < 0.51 and 1.49 < values.max() < 1.5


@pytest.mark.parametrize("shape", [(24, 16), (16, 24), (3, 16, 16)])
def test_singular_values_come_near_1_and_the_directions_stay(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(1)
    matrices = torch.randn(shape, generator=generator, dtype=torch.float64)
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    stretched = left @ torch.diag(torch.linspace(1, 0.02, 16, dtype=torch.float64)) @ right
    made = orthogonalize(stretched, QUINTICS, 1e-7)
    between = left.mT @ made @ right.mT
    found = between.diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(between, torch.diag_embed(found), rtol=0, atol=1e-9)
    assert found.min() > 0.5 and found.max() < 1.5


@pytest.mark.parametrize("name", ["adam", "adamw", "muon", "sgd", "nesterov"])
def test_the_state_is_as_large_as_it_is_said_to_be(name: Any) -> None:
    model = fresh_model(ARCHITECTURES["transformer, target tied"])
    hidden = (weight for name, weight in model.named_parameters() if name.endswith("key_value.weight"))
    for frozen in (next(model.parameters()), next(hidden)):
        frozen.requires_grad_(False)
    settings = TrainingSettings(steps=1, optimizer=name, momentum=0.5 * (name == "nesterov"))
    optimizer = build_optimizer(model, settings)
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight) if weight.requires_grad else None
    optimizer.step()
    kept = [value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value)]
    assert state_size(model, settings) == sum(value.numel() for value in kept if value.dim() > 0)


def test_a_model_that_makes_weights_when_it_computes_is_refused_after_the_first_step(tmp_path: Path) -> None:
    class Late(nn.Module):
        def forward(self, states: Tensor) -> Tensor:
            if not hasattr(self, "late"):
                self.late = nn.Linear(states.shape[-1], states.shape[-1])
            return self.late(states)

    trainer = trainer_of(
        ARCHITECTURES["plain gru"], tmp_path / "run", settings=TrainingSettings(steps=3, batch_tokens=40)
    )
    trainer.model.get_submodule("decoder").narrow = Late()
    with pytest.raises(TrainingError, match=r"`decoder\.narrow\.late\.weight` appeared.*`__init__`.*not in `forward`"):
        trainer.run()
    assert trainer.progress.step == 1
    trainer.stream.close()
