"""The recurrent loop as one operation equals the plain loop, whose gradients are autograd's."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tests.native.compiled import require
from torch import Tensor

from dragoman.attention.scores import build_score
from dragoman.attention.single_head import SingleHead
from dragoman.interfaces import Batch, Padded
from dragoman.layers import attentive
from dragoman.layers.attentive import AttendBefore, AttendedSource, attend_and_step
from dragoman.layers.cross_entropy import linear_cross_entropy
from dragoman.layers.dropout import Dropout
from dragoman.layers.expert_settings import ExpertSettings
from dragoman.layers.recurrent import BidirectionalStack, RecurrentStack, zero_state
from dragoman.machine.compute_plan import ComputePlan, adopt
from dragoman.models.build import ModelSettings, build_model
from dragoman.models.deep_att import DeepAttSettings
from dragoman.models.gnmt import GnmtSettings
from dragoman.models.moe import MoeSettings
from dragoman.models.rnn import build_rnn
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Seq2Seq, Vocabularies
from dragoman.native.compilation import LOSS, RECURRENCE
from dragoman.training.objectives import translation_loss


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    require(RECURRENCE)
    require(LOSS)


def batch_of(lengths: list[tuple[int, int]], vocabulary: int = 23, seed: int = 5) -> Batch:
    """Return random pairs of sentences of these lengths."""
    generator = torch.Generator().manual_seed(seed)
    sides = []
    for side in range(2):
        sizes = torch.tensor([pair[side] for pair in lengths])
        mask = torch.arange(int(sizes.max())) < sizes[:, None]
        ids = torch.randint(4, vocabulary, mask.shape, generator=generator) * mask
        sides.append(Padded(ids, mask))
    return Batch(*sides)


def losses(model: Seq2Seq, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the mean loss and all gradients."""
    model.zero_grad()
    loss = translation_loss(model, batch, smoothing=0.1)
    (loss.total / loss.tokens).backward()
    return loss.total / loss.tokens, {
        name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None
    }


def both(settings: dict[str, Any], dtype: torch.dtype) -> tuple[Seq2Seq, Seq2Seq]:
    """Return a model, and the same one whose loops are one operation."""
    torch.manual_seed(3)
    sizes = {"embedding": 6, "hidden": 8, "dropout": 0.0}
    plain = build_rnn(RecurrentSettings(**{**sizes, **settings}), Vocabularies(23, 23)).to(dtype).train()
    for parameter in plain.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    native = copy.deepcopy(plain)
    adopt(native, ComputePlan(native=True, native_loss=True))
    return plain, native


def compare_with_plain(model: Seq2Seq, lengths: list[tuple[int, int]]) -> None:
    """See that a model in training has the same loss and gradients in double precision with fused loops and without."""
    model.double().train()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    native = copy.deepcopy(model)
    adopt(native, ComputePlan(native=True, native_loss=True))
    batch = batch_of(lengths)
    (loss, gradients), (other, others) = losses(model, batch), losses(native, batch)
    torch.testing.assert_close(other, loss, rtol=1e-9, atol=1e-9)
    assert gradients.keys() == others.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(
            others[name], gradient, rtol=1e-9, atol=1e-9, msg=lambda text, at=name: f"{at}: {text}"
        )


DECODERS: dict[str, dict[str, Any]] = {
    "bahdanau": {"decoder": "bahdanau"},
    "luong": {"decoder": "luong"},
    "feeding": {"decoder": "luong", "input_feeding": True},
    "plain": {"decoder": "plain"},
}
SHAPES = {
    "padded": [(5, 4), (3, 7), (1, 2), (4, 3)],
    "one row": [(6, 5)],
    "short source": [(1, 6), (1, 3)],
    "wide": [(2 + row % 9, 3 + row % 5) for row in range(20)],
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("score", ["additive", "concat", "dot", "scaled_dot", "general", "scaled_general"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_loss_and_gradients_are_those_of_autograd(decoder: str, cell: str, score: str, dtype: torch.dtype) -> None:
    plain, native = both({**DECODERS[decoder], "cell": cell, "score": score}, dtype)
    batch = batch_of(SHAPES["padded"])
    (loss, gradients), (other, others) = losses(plain, batch), losses(native, batch)
    torch.testing.assert_close(other, loss, rtol=1e-5, atol=1e-5)
    assert gradients.keys() == others.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(
            others[name], gradient, rtol=1e-5, atol=1e-5, msg=lambda text, at=name: f"{at}: {text}"
        )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "settings",
    [
        {"layers": 2},
        {"layers": 3, "cell": "lstm"},
        {"layers": 2, "decoder": "luong", "input_feeding": True, "tied": True},
        {"bidirectional": False},
        {"encoder_hidden": 5, "embedding": 3},
        {"deep_output": False, "hidden": 34},
    ],
    ids=str,
)
def test_so_they_are_for_other_shapes_and_stacks(settings: dict[str, Any], shape: str) -> None:
    plain, native = both(settings, torch.float64)
    batch = batch_of(SHAPES[shape])
    (loss, gradients), (other, others) = losses(plain, batch), losses(native, batch)
    torch.testing.assert_close(other, loss, rtol=1e-9, atol=1e-9)
    for name, gradient in gradients.items():
        torch.testing.assert_close(others[name], gradient, rtol=1e-9, atol=1e-9)


EXPERTS = ExpertSettings(experts=3, active=2, gate="balanced")
OTHERS: dict[str, ModelSettings] = {
    **{
        f"deep-att, {layers}, {score}": DeepAttSettings(
            embedding=6, hidden=8, encoder_layers=2, decoder_layers=layers, score=score, dropout=0.0
        )
        for layers, score in ((1, "additive"), (3, "general"))
    },
    "gnmt": GnmtSettings(encoder_layers=2, decoder_layers=3, hidden=8, dropout=0.0),
    "gnmt, product": GnmtSettings(encoder_layers=2, decoder_layers=1, hidden=8, score="product", dropout=0.0),
    **{
        f"moe, {score}": MoeSettings(width=8, cells=12, expert_hidden=6, experts=EXPERTS, score=score, dropout=0.0)
        for score in ("product", "additive", "dot")
    },
    "bahdanau, product": RecurrentSettings(embedding=6, hidden=8, dropout=0.0, score="product"),
    "bahdanau, marginal": RecurrentSettings(embedding=6, hidden=8, dropout=0.0, marginal=True),
    "luong, product, feeding": RecurrentSettings(
        decoder="luong", embedding=6, hidden=8, dropout=0.0, score="product", input_feeding=True
    ),
    "luong, marginal, feeding": RecurrentSettings(
        decoder="luong", embedding=6, hidden=8, dropout=0.0, marginal=True, input_feeding=True, layers=2
    ),
}


@pytest.mark.parametrize("shape", ["padded", "short source"])
@pytest.mark.parametrize("name", OTHERS)
def test_so_they_are_for_other_architectures(name: str, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model(OTHERS[name], Vocabularies(23, 23))
    assert isinstance(model, Seq2Seq)
    fused, can_fuse = [], attentive.can_fuse
    monkeypatch.setattr(attentive, "can_fuse", lambda *a, **b: fused.append(can_fuse(*a, **b)) or fused[-1])
    compare_with_plain(model, SHAPES[shape])
    assert fused == [False, True]


class FixedDropout(Dropout):
    """Drops the same of the context at each position, in one loop as in the other."""

    def __init__(self, mask: Tensor) -> None:
        super().__init__(0.5)
        self.mask, self.position = mask, -1

    def forward(self, states: Tensor) -> Tensor:
        """Drop from the next position's context."""
        self.position += 1
        return states * self.mask[self.position][:, None]

    def keep(self, shape: Sequence[int]) -> Tensor:
        """Return what all contexts are multiplied by."""
        assert tuple(shape) == self.mask.shape
        return self.mask


def test_gradients_are_the_same_where_contexts_are_dropped() -> None:
    torch.manual_seed(4)
    cell = RecurrentStack("lstm", 3 + 4, 5, layers=2, dropout=0.0).double()
    attention = SingleHead(build_score("additive", 5, 4, hidden=6, positions=9), 5).double()
    embedded, states = torch.randn(2, 6, 3).double().requires_grad_(), torch.randn(2, 7, 4).double().requires_grad_()
    dropout = torch.bernoulli(torch.full((6, 2, 4), 0.5)).double() * 2
    found = []
    for native in (True, False):
        cell.plan = ComputePlan(native=native)
        source = AttendedSource(torch.arange(7) < torch.tensor([[7], [3]]), attention.prepare(states, states))
        order, zeros = AttendBefore(FixedDropout(dropout)), zero_state(embedded, 2, 5, 5)
        output = attend_and_step(cell, attention, embedded, source=source, state=zeros, order=order, need_weights=True)
        assert output.fused == native and output.attended.weights is not None
        total = output.states.square().sum() + (output.attended.context * output.attended.weights.amax(-1).mT).sum()
        leaves = [embedded, states, *cell.parameters(), *attention.parameters()]
        found.append([output.states, output.attended.weights, *torch.autograd.grad(total, leaves)])
    torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_a_state_goes_on_where_the_loop_left_it(decoder: str, cell: str) -> None:
    _, model = both({**DECODERS[decoder], "cell": cell, "layers": 2}, torch.float64)
    model.eval()
    batch = batch_of([(5, 7), (3, 7)])
    whole = model(batch.source, batch.inputs).logits
    encoded = model.encoder(batch.source)
    first, state = model.decoder(batch.inputs[:, :4], model.decoder.start(encoded))
    second, _ = model.decoder(batch.inputs[:, 4:], state)
    torch.testing.assert_close(torch.cat([first.logits, second.logits], 1), whole)


@pytest.mark.parametrize(
    "settings",
    [
        {"score": "cosine"},
        {"score": "location"},
        {"weights": "sparsemax"},
        {"window": {"kind": "predictive", "reach": 2}},
    ],
    ids=str,
)
def test_what_the_loop_cannot_do_is_done_plainly(settings: dict[str, Any]) -> None:
    plain, native = both(settings, torch.float64)
    batch = batch_of(SHAPES["padded"])
    torch.testing.assert_close(losses(native, batch)[0], losses(plain, batch)[0])


def test_weights_are_shown_when_asked_for() -> None:
    plain, native = both({}, torch.float64)
    batch = batch_of(SHAPES["padded"])
    shown = native(batch.source, batch.inputs, need_weights=True)
    torch.testing.assert_close(shown.attention, plain(batch.source, batch.inputs, need_weights=True).attention)
    torch.testing.assert_close(shown.logits, native(batch.source, batch.inputs).logits)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{}, {"decoder": "luong", "input_feeding": True}, {"cell": "lstm", "layers": 2}], ids=str
)
def test_losses_are_equal_over_200_steps(settings: dict[str, Any]) -> None:
    models = both(settings, torch.float32)
    records = []
    for model in models:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        record = []
        for step in range(200):
            loss, _ = losses(model, batch_of(SHAPES["padded"], seed=step % 7))
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            record.append(loss.item())
        records.append(torch.tensor(record))
    assert records[0][-7:].mean() < 0.8 * records[0][:7].mean(), "nothing was learned, so nothing was compared"
    torch.testing.assert_close(records[1], records[0], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("settings", [{"hidden": 128}, {"hidden": 128, "cell": "lstm", "layers": 2}], ids=str)
def test_under_bfloat16_both_round_alike(settings: dict[str, Any]) -> None:
    plain, native = both(settings, torch.float32)
    for model in (plain, native):
        for parameter in model.parameters():
            parameter.data.mul_(0.3)
    batch = batch_of([(5, 6)] * 128)
    exact, truth = losses(plain, batch)
    with torch.autocast("cpu", torch.bfloat16):
        loss, gradients = losses(plain, batch)
        other, others = losses(native, batch)
    torch.testing.assert_close(other, loss, rtol=0.01, atol=0.01)
    torch.testing.assert_close(other, exact, rtol=0.01, atol=0.01)
    for name, true in truth.items():
        error, its = (
            (found[name].float() - true).norm() / true.norm().clamp_min(1e-3) for found in (others, gradients)
        )
        assert error < 2 * its + 0.01, f"{name}: {error} from the exact gradient, the plain one {its}"


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_loss_in_one_pass_is_that_of_autograd(dtype: torch.dtype, bias: bool, smoothing: float) -> None:
    low = dtype == torch.bfloat16
    torch.manual_seed(2)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    features, weight = torch.randn(1100, 6, dtype=wide), torch.randn(40, 6, dtype=wide)
    given = [features * 3, weight, *([torch.randn(40, dtype=wide)] if bias else [])]
    labels = torch.randint(0, 40, (1100,))
    labels[0] = (features @ weight.T)[0].argmin()
    found = []
    for native in (True, False):
        leaves = [tensor.clone().requires_grad_() for tensor in given]
        shift = leaves[2] if bias else None
        if native:
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                loss, plain = linear_cross_entropy(
                    leaves[0], leaves[1], shift, labels=labels, smoothing=smoothing, native=native
                )
        else:
            logits = torch.nn.functional.linear(leaves[0], leaves[1], shift)
            loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum", label_smoothing=smoothing)
            plain = torch.nn.functional.cross_entropy(logits, labels, reduction="sum").detach()
        (loss * 0.5).backward()
        found.append([loss, plain, *(leaf.grad for leaf in leaves)])
        assert not plain.requires_grad
    scale = 0.02 if low else 1e-5 if dtype == torch.float32 else 1e-12
    for own, true in zip(*found, strict=True):
        assert (own - true).norm() <= scale * true.norm()


def test_the_loss_without_gradients_is_the_same() -> None:
    features, weight, labels = torch.randn(9, 6), torch.randn(40, 6), torch.randint(0, 40, (9,))
    native, plain = (
        linear_cross_entropy(features, weight, None, labels=labels, smoothing=0.1, native=on) for on in (True, False)
    )
    torch.testing.assert_close(native, plain)


def test_a_loss_that_is_no_number_says_so() -> None:
    features, weight = torch.randn(3, 6), torch.randn(40, 6)
    features[1, 2] = torch.nan
    total, plain = linear_cross_entropy(features, weight, None, labels=torch.tensor([1, 2, 3]), native=True)
    assert total.isnan() and plain.isnan()


def test_dropout_between_layers_drops_in_training_alone() -> None:
    _, model = both({"layers": 2, "dropout": 0.5, "outer_dropout": 0.0}, torch.float64)
    batch = batch_of([(5, 6)] * 3)
    states = lambda: model(batch.source, batch.inputs).features  # noqa: E731
    assert not torch.equal(states(), states())
    model.eval()
    assert torch.equal(states(), states())


def test_gradients_with_dropout_follow_the_same_mask() -> None:
    _, model = both({"layers": 2, "dropout": 0.5, "outer_dropout": 0.0, "decoder": "plain"}, torch.float64)
    stack = model.decoder.stack
    inputs = torch.randn(2, 4, stack.stack.input_size, dtype=torch.float64, requires_grad=True)
    state = (torch.randn(2, 2, 8, dtype=torch.float64, requires_grad=True),)

    def run(given: Tensor, first: Tensor) -> Tensor:
        torch.manual_seed(9)
        return stack(given, (first,))[0]

    assert torch.autograd.gradcheck(run, (inputs, *state))


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_encoder_never_sees_padding(cell: Any, bidirectional: bool) -> None:
    torch.manual_seed(1)
    stack = BidirectionalStack(cell, 3, 4, layers=2, dropout=0.0, bidirectional=bidirectional)
    inputs, lengths = torch.randn(3, 5, 3), torch.tensor([5, 2, 1])
    outputs, last = stack(inputs, lengths)
    adopt(stack, ComputePlan(native=True))
    others, final = stack(inputs, lengths)
    torch.testing.assert_close(others, outputs, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(final, last, rtol=1e-5, atol=1e-6)
    adopt(stack, ComputePlan(native=False))
    assert not others[1, 2:].any()
