"""ByteNet against plain loops over positions and channels (Kalchbrenner et al. 2016, sections 3.2 to 3.6)."""

import math

import pytest
import torch
from tests.laws.architectures import bytenet
from tests.reference import loops
from torch import nn

from dragoman.interfaces import Padded
from dragoman.laws.examples import model_of
from dragoman.models.bytenet import ByteNetBlock
from dragoman.models.seq2seq import Seq2Seq

SOURCE, TOKENS = [4, 5, 6, 7, 2], [1, 5, 4, 7, 5, 6, 8, 4]


def linear(layer: nn.Linear, x: loops.Vector) -> loops.Vector:
    """W x + b."""
    return loops.affine(layer.weight.tolist(), x, layer.bias.tolist())


def activate(norm: nn.LayerNorm, x: loops.Vector) -> loops.Vector:
    """ReLU of the layer norm."""
    mean = sum(x) / len(x)
    variance = sum((each - mean) ** 2 for each in x) / len(x)
    unit = [(each - mean) / math.sqrt(variance + norm.eps) for each in x]
    scaled = loops.plus(loops.multiplied(unit, norm.weight.tolist()), norm.bias.tolist())
    return [max(0.0, each) for each in scaled]


def block(layer: ByteNetBlock, states: loops.Matrix, masked: bool) -> loops.Matrix:
    """x + 1x1(ReLU(norm(dilated(ReLU(norm(1x1(ReLU(norm(x)))))))))."""
    inner = [activate(layer.norms[1], linear(layer.narrow, activate(layer.norms[0], x))) for x in states]
    nothing, dilation = [0.0] * len(inner[0]), layer.convolution.dilation
    outputs = []
    for place, x in enumerate(states):
        seen = [place + dilation * step for step in ((-2, -1, 0) if masked else (-1, 0, 1))]
        beside = [number for j in seen for number in (inner[j] if 0 <= j < len(inner) else nothing)]
        convolved = linear(layer.convolution.linear, beside)
        outputs.append(loops.plus(x, linear(layer.widen, activate(layer.norms[2], convolved))))
    return outputs


def embed(weight: torch.Tensor, ids: list[int]) -> loops.Matrix:
    """Embeddings, scaled by the root of their size."""
    table = weight.tolist()
    return [[x * math.sqrt(len(table[token])) for x in table[token]] for token in ids]


def logits_of(model: Seq2Seq, source: list[int], target: list[int], length: int) -> loops.Matrix:
    """What is predicted after each target token, with the source continued to `length`."""
    columns = embed(model.encoder.embedding.weight, source)
    wide = len(columns[0])
    columns += [[0.0] * wide for _ in range(length - len(source))]
    for layer in model.encoder.blocks:
        columns = block(layer, columns, masked=False)
    columns += [[0.0] * wide for _ in target]
    embedded = embed(model.decoder.embedding.weight, target)
    join = model.decoder.join
    states = [
        loops.plus(e, c) if join is None else linear(join, [*e, *c]) for e, c in zip(embedded, columns, strict=False)
    ]
    for layer in model.decoder.blocks:
        states = block(layer, states, masked=True)
    hidden = [linear(model.decoder.leave, activate(model.decoder.norm, x)) for x in states]
    return [linear(model.decoder.head, [max(0.0, each) for each in x]) for x in hidden]


@torch.no_grad()
@pytest.mark.parametrize("join", ["sum", "concat"])
def test_bytenet_is_its_equations(join: str) -> None:
    model = model_of(bytenet(join=join))
    ids = torch.tensor([SOURCE, [*SOURCE[2:], 0, 0]])
    logits = model(Padded(ids, ids > 0), torch.tensor([TOKENS, TOKENS])).logits
    for row, (source, length) in enumerate(((SOURCE, 6), (SOURCE[2:], 4))):
        expected = torch.tensor(logits_of(model, source, TOKENS, length))
        torch.testing.assert_close(logits[row], expected, rtol=1e-4, atol=1e-4)
