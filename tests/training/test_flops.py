"""FLOPs: counts against arithmetic done by hand, the paper's estimates, and the meter of a training."""

import pytest
import torch
import torch.nn.functional as F
from tests.laws.architectures import ARCHITECTURES
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from dragoman.laws.examples import batch, fresh_model
from dragoman.training.flops import EVERY, SUSTAINED, Meter, counting, estimate, sustained_rate
from dragoman.training.objectives import translation_loss
from dragoman.training.optimizers import build_optimizer
from dragoman.training.settings import OptimizerName, TrainingSettings
from dragoman.training.step import Compute, train_step

ROWS, TIME, WIDTH, HIDDEN = 4, 5, 8, 16


def test_a_linear_layer_costs_one_product_forward_and_two_backward() -> None:
    layer, inputs = nn.Linear(WIDTH, HIDDEN), torch.randn(ROWS, WIDTH, requires_grad=True)
    with counting() as count:
        layer(inputs).sum().backward()
    assert count.flops == 3 * 2 * ROWS * WIDTH * HIDDEN


def test_the_fused_recurrent_layer_costs_its_products() -> None:
    stack = nn.LSTM(WIDTH, HIDDEN, 2, batch_first=True, bidirectional=True)
    with counting() as count:
        stack(torch.randn(ROWS, TIME, WIDTH, requires_grad=True))[0].sum().backward()
    gates = 4 * HIDDEN
    first, second = gates * (WIDTH + HIDDEN), gates * (2 * HIDDEN + HIDDEN)
    assert count.flops == 3 * 2 * ROWS * TIME * 2 * (first + second)


def test_padding_of_packed_sentences_costs_nothing() -> None:
    stack, inputs = nn.LSTM(WIDTH, HIDDEN, batch_first=True), torch.randn(ROWS, TIME, WIDTH)
    packed = pack_padded_sequence(inputs, torch.tensor([5, 4, 3, 2]), batch_first=True)
    with counting() as count, torch.no_grad():
        stack(packed)
    assert count.flops == 2 * (5 + 4 + 3 + 2) * 4 * HIDDEN * (WIDTH + HIDDEN)


def test_fused_attention_costs_both_products_and_the_softmax() -> None:
    query, keys = torch.randn(2, 3, 4, WIDTH, requires_grad=True), torch.randn(2, 3, 6, WIDTH, requires_grad=True)
    scores = 2 * 3 * 4 * 6
    with counting() as forward:
        attended = F.scaled_dot_product_attention(query, keys, keys)
    assert forward.flops == 2 * scores * 2 * WIDTH + 5 * scores
    with counting() as backward:
        attended.sum().backward()
    assert backward.flops == 2 * scores * 5 * WIDTH + 9 * scores


def test_a_softmax_costs_nine_operations_a_number() -> None:
    scores = torch.randn(3, 7, requires_grad=True)
    with counting() as count:
        torch.softmax(scores, -1).sum().backward()
    assert count.flops == 9 * 3 * 7


@pytest.mark.parametrize("name", ["transformer post-norm, learned", "bahdanau gru additive", "luong, local-m"])
def test_a_step_costs_about_six_operations_a_weight_and_token(name: str) -> None:
    """The rule of thumb that published estimates use: two forward, four backward, for each token that meets a weight."""
    model = fresh_model(ARCHITECTURES[name], 200)
    sentences = batch([6] * 8, [7] * 8)
    with counting() as count:
        translation_loss(model, sentences).total.backward()
    used = sum(
        p.numel() for key, p in model.named_parameters() if "embedding" not in key or key.endswith("head.weight")
    )
    assert 0.5 * 6 * used * 48 < count.flops < 3.5 * 6 * used * 48


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_what_an_optimiser_computes_is_not_counted(optimizer: OptimizerName) -> None:
    model, pairs = fresh_model(ARCHITECTURES["luong additive"]).eval(), batch([6] * 8, [7] * 8)
    with counting() as gradient:
        translation_loss(model, pairs).total.backward()
    update = build_optimizer(model, TrainingSettings(steps=1, optimizer=optimizer))
    with counting() as whole:
        train_step(model, translation_loss, update, batches=[pairs], clip=1.0, compute=Compute())
    assert whole.flops == gradient.flops > 0


@pytest.mark.parametrize(
    ("system", "gpu", "devices", "days", "printed"),
    [
        ("Transformer base, English-German", "P100", 8, 0.5, 3.3e18),
        ("Transformer big, English-German", "P100", 8, 3.5, 2.3e19),
        ("GNMT, English-French", "K80", 96, 6.0, 1.4e20),
        ("MoE, English-French", "K40", 64, 6.0, 1.2e20),
        ("ConvS2S, English-German", "M40", 1, 18.5, 9.6e18),
        ("ConvS2S, English-French", "M40", 8, 37.0, 1.5e20),
        ("Deep-Att + PosUnk, English-French", "K40", 32, 10.0, 1.0e20),
    ],
)
def test_the_rule_gives_the_costs_that_table_2_prints(
    system: str, gpu: str, devices: int, days: float, printed: float
) -> None:
    """Vaswani et al. 2017, table 2, from devices and days as each system's own paper tells them."""
    assert estimate(days * 86_400, devices, SUSTAINED[gpu]) == pytest.approx(printed, rel=0.05), system


def test_the_meter_counts_some_steps_and_estimates_the_others_by_their_size() -> None:
    layer, taken = nn.Linear(WIDTH, HIDDEN, bias=False), []

    def step(cells: int) -> str:
        with torch.no_grad():
            layer(torch.randn(cells, WIDTH))
        taken.append(cells)
        return "result"

    meter = Meter()
    for cells in (3, 5, 7, 11):
        assert meter.measure(cells, lambda cells=cells: step(cells)) == "result"
    assert taken == [3, 5, 7, 11] and meter.steps == 4
    assert meter.cells == 3 + 5, "the first two steps are counted"
    assert meter.flops == pytest.approx(2 * WIDTH * HIDDEN * sum(taken))
    for _ in range(EVERY - 4):
        meter.measure(2, lambda: step(2))
    assert meter.cells == 3 + 5 + 2, "and one in EVERY"


def test_a_restarted_meter_keeps_the_sum_and_learns_the_new_cost() -> None:
    meter = Meter(flops=1000.0, counted=10.0, cells=1, steps=50)
    meter.restart()
    with torch.no_grad():
        meter.measure(4, lambda: torch.ones(2, 3) @ torch.ones(3, 5))
    assert meter.flops == 1000 + 2 * 2 * 3 * 5 and meter.cells == 4


def test_the_rate_of_this_machine_is_measured() -> None:
    assert 1e8 < sustained_rate(torch.device("cpu")) < 1e15
