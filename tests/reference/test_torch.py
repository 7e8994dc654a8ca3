"""torch's own modules, with their weights copied over, give the same numbers."""

import pytest
import torch
from tests.layers.test_recurrent import projected_inputs, zero_state
from torch import Tensor, nn

from dragoman.attention import masks
from dragoman.attention.multi_head import MultiHead
from dragoman.interfaces import PAD, Padded
from dragoman.layers.positions import sinusoids
from dragoman.layers.recurrent import BidirectionalStack, RecurrentStack
from dragoman.layers.residual import Residual
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer import DecoderLayer, EncoderLayer, TransformerSettings, build_transformer

WIDTH, HEADS, INNER = 8, 2, 12
REAL = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def settings(norm: str) -> TransformerSettings:
    """A tiny Transformer of two layers."""
    sizes = {"width": WIDTH, "heads": HEADS, "feed_forward": INNER, "encoder_layers": 2, "decoder_layers": 2}
    return TransformerSettings(norm=norm, dropout=0.0, tied="none", **sizes)


def states(rows: int, length: int, seed: int = 1) -> Tensor:
    """Random states."""
    return torch.randn(rows, length, WIDTH, generator=torch.Generator().manual_seed(seed))


def large(module: nn.Module, seed: int = 2) -> nn.Module:
    """Fill every parameter with random numbers, norms around 1."""
    torch.manual_seed(seed)
    for name, parameter in module.named_parameters():
        is_scale = "norm" in name and name.endswith("weight")
        nn.init.normal_(parameter, mean=1.0 if is_scale else 0.0, std=0.4)
    return module.eval()


@torch.no_grad()
def copy_attention(own: MultiHead, torchs: nn.MultiheadAttention) -> None:
    """Take over torch's projections, which are stacked as query, key, value."""
    own.query.weight.copy_(torchs.in_proj_weight[:WIDTH])
    own.query.bias.copy_(torchs.in_proj_bias[:WIDTH])
    own.key_value.weight.copy_(torchs.in_proj_weight[WIDTH:])
    own.key_value.bias.copy_(torchs.in_proj_bias[WIDTH:])
    own.output.load_state_dict(torchs.out_proj.state_dict())


def copy_rest(own: EncoderLayer | DecoderLayer, torchs: nn.Module, residuals: list[Residual]) -> None:
    """Take over the feed-forward network and the norms."""
    own.feed_forward.inner.load_state_dict(torchs.linear1.state_dict())
    own.feed_forward.outer.load_state_dict(torchs.linear2.state_dict())
    for number, residual in enumerate(residuals, 1):
        residual.norm.load_state_dict(getattr(torchs, f"norm{number}").state_dict())


def copy_encoder_layer(own: EncoderLayer, torchs: nn.TransformerEncoderLayer) -> None:
    """Take over an encoder layer."""
    copy_attention(own.attention, torchs.self_attn)
    copy_rest(own, torchs, [own.after_attention, own.after_feed_forward])


def copy_decoder_layer(own: DecoderLayer, torchs: nn.TransformerDecoderLayer) -> None:
    """Take over a decoder layer."""
    copy_attention(own.self_attention, torchs.self_attn)
    copy_attention(own.cross_attention, torchs.multihead_attn)
    copy_rest(own, torchs, [own.after_self, own.after_cross, own.after_feed_forward])


def arguments(norm: str) -> dict[str, object]:
    """How torch's layers are made."""
    sizes = {"d_model": WIDTH, "nhead": HEADS, "dim_feedforward": INNER}
    return {**sizes, "dropout": 0.0, "batch_first": True, "norm_first": norm == "pre"}


@pytest.mark.parametrize("asked", [True, False])
def test_multi_head_attention_is_torch_s(asked: bool) -> None:
    torchs = large(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True))
    own = MultiHead(WIDTH, HEADS).eval()
    copy_attention(own, torchs)
    queries, keys, values = states(2, 3), states(2, 5, 2), states(2, 5, 3)
    attended = own(queries, own.prepare(keys, values), masks.to_source(REAL), need_weights=asked)
    context, weights = torchs(queries, keys, values, key_padding_mask=~REAL, average_attn_weights=False)
    torch.testing.assert_close(attended.context, context, **CLOSE)
    if asked:
        torch.testing.assert_close(attended.weights, weights, **CLOSE)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_recurrent_stack_is_torch_s_all_at_once_and_step_by_step(cell: str, layers: int) -> None:
    torchs = large((nn.GRU if cell == "gru" else nn.LSTM)(WIDTH, 6, layers, batch_first=True))
    own = RecurrentStack(cell, WIDTH, 6, layers=layers, dropout=0.0).eval()
    own.stack.load_state_dict(torchs.state_dict())
    inputs = states(2, 5)
    expected, _ = torchs(inputs)
    outputs, _ = own(inputs, zero_state(own, inputs))
    torch.testing.assert_close(outputs, expected, **CLOSE)
    state = zero_state(own, inputs)
    for position, projected in enumerate(projected_inputs(own, inputs).unbind(1)):
        output, state = own.step(projected, state)
        torch.testing.assert_close(output, expected[:, position], **CLOSE)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_bidirectional_stack_is_torch_s_on_each_sentence_alone(cell: str) -> None:
    torchs = large((nn.GRU if cell == "gru" else nn.LSTM)(WIDTH, 6, 2, batch_first=True, bidirectional=True))
    own = BidirectionalStack(cell, WIDTH, 6, layers=2, dropout=0.0, bidirectional=True).eval()
    own.stack.load_state_dict(torchs.state_dict())
    inputs = states(2, 5)
    outputs, final = own(inputs, REAL.sum(1))
    for row, length in enumerate(REAL.sum(1).tolist()):
        expected, after = torchs(inputs[row : row + 1, :length])
        torch.testing.assert_close(outputs[row, :length], expected[0], **CLOSE)
        assert not outputs[row, length:].any()
        last = after if cell == "gru" else after[0]
        torch.testing.assert_close(final[0][row], last[:, 0].unflatten(0, (2, 2)).flatten(1), **CLOSE)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_layer_is_torch_s(norm: str) -> None:
    torchs = large(nn.TransformerEncoderLayer(**arguments(norm)))
    own = EncoderLayer(settings(norm)).eval()
    copy_encoder_layer(own, torchs)
    inputs = states(2, 5)
    found = own(inputs, masks.to_source(REAL)).states
    expected = torchs(inputs.requires_grad_(), src_key_padding_mask=~REAL)
    torch.testing.assert_close(found[REAL], expected[REAL], **CLOSE)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_decoder_layer_is_torch_s(norm: str) -> None:
    torchs = large(nn.TransformerDecoderLayer(**arguments(norm)))
    own = DecoderLayer(settings(norm)).eval()
    copy_decoder_layer(own, torchs)
    target, source = states(2, 4), states(2, 5, 2)
    prepared = own.cross_attention.prepare(source, source)
    step = own(target, None, prepared, offset=0, mask=masks.to_source(REAL), need_weights=False)
    future = ~masks.causal(4, 4)[0]
    expected = torchs(target, source, tgt_mask=future, memory_key_padding_mask=~REAL)
    torch.testing.assert_close(step.states, expected, **CLOSE)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_whole_transformer_is_torch_s(norm: str) -> None:
    last = [nn.LayerNorm(WIDTH) if norm == "pre" else None for _ in range(2)]
    torchs = nn.Transformer(
        **arguments(norm),
        custom_encoder=nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**arguments(norm)), 2, last[0], enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(nn.TransformerDecoderLayer(**arguments(norm)), 2, last[1]),
    )
    large(torchs)
    own = build_transformer(settings(norm), Vocabularies(11, 11))
    large(own, seed=4)
    for mine, other in zip(own.encoder.layers, torchs.encoder.layers, strict=True):
        copy_encoder_layer(mine, other)
    for mine, other in zip(own.decoder.layers, torchs.decoder.layers, strict=True):
        copy_decoder_layer(mine, other)
    if norm == "pre":
        own.encoder.norm.load_state_dict(torchs.encoder.norm.state_dict())
        own.decoder.norm.load_state_dict(torchs.decoder.norm.state_dict())
    source = torch.tensor([[4, 5, 6, 7, 2], [8, 9, 2, PAD, PAD]])
    target = torch.tensor([[1, 5, 6, 7], [1, 8, 4, 9]])
    read, write = (
        embedding.weight[ids] * WIDTH**0.5 + sinusoids(0, ids.shape[1], WIDTH)
        for embedding, ids in ((own.encoder.embedding, source), (own.decoder.embedding, target))
    )
    features = torchs(
        read, write, tgt_mask=~masks.causal(4, 4)[0], src_key_padding_mask=~REAL, memory_key_padding_mask=~REAL
    )
    found = own(Padded(source, REAL), target)
    torch.testing.assert_close(found.features, features, **CLOSE)
    torch.testing.assert_close(found.logits, features @ own.decoder.head.weight.T, rtol=1e-4, atol=1e-4)
