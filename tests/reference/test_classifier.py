"""The document classifier does what Yang et al. (2016) write, equations 5 to 11, as plain loops."""

import pytest
import torch
from tests.reference.loops import Matrix, Vector, affine, dot, gru, softmax, tanh
from torch import Tensor

from dragoman.data.labelled import collate_documents
from dragoman.interfaces import EOS
from dragoman.models.classifier import ClassifierSettings, DocumentClassifier, Level
from dragoman.settings import parse

DOCUMENT = [[5, 7, 6], [8], [6, 5]]
HIDDEN = 3


def numbers(tensor: Tensor) -> list[float]:
    """Return a tensor as lists of numbers."""
    return tensor.detach().double().tolist()


def read_one_way(level: Level, inputs: Matrix, suffix: str) -> Matrix:
    """Run one direction of the GRU from a state of zeros."""
    weights: dict[str, Matrix] = {}
    biases: dict[str, Vector] = {}
    for side in ("i", "h"):
        matrix, bias = (getattr(level.reader.stack, f"{name}_{side}h_l0{suffix}") for name in ("weight", "bias"))
        for gate, rows, values in zip("rzn", matrix.split(HIDDEN), bias.split(HIDDEN), strict=True):
            weights[side + gate], biases[side + gate] = numbers(rows), numbers(values)
    states, state = [], [0.0] * HIDDEN
    for x in inputs:
        state = gru(x, state, weights=weights, biases=biases)
        states.append(state)
    return states


def read(level: Level, inputs: Matrix) -> tuple[Vector, Vector]:
    """h_t from both directions; u_t = tanh(W h_t + b); alpha = softmax(u_t^T u_w); the sum of alpha_t h_t."""
    backwards = read_one_way(level, inputs[::-1], "_reverse")[::-1]
    states = [[*f, *b] for f, b in zip(read_one_way(level, inputs, ""), backwards, strict=True)]
    score = level.attention.score
    bias = numbers(score.query(level.query))
    hidden = [tanh(affine(numbers(score.key.weight), state, bias)) for state in states]
    weights = softmax([dot(u, numbers(score.energy.weight)[0]) for u in hidden])
    return [sum(w * s[at] for w, s in zip(weights, states, strict=True)) for at in range(2 * HIDDEN)], weights


@pytest.mark.parametrize("others", [[], [[9], [4, 7, 8, 5, EOS, 6]]], ids=["alone", "beside others"])
def test_a_document_is_read_as_the_equations_say(others):
    torch.manual_seed(5)
    settings = parse(ClassifierSettings, {"embedding": 4, "hidden": HIDDEN, "attention": 5})
    model = DocumentClassifier(settings, vocabulary=10, labels=3).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.7 * torch.randn(parameter.shape))
        flat = [word for sentence in DOCUMENT for word in (EOS, *sentence)][1:]
        output = model(collate_documents([flat, *others], [0] * (1 + len(others))).source)
    vectors, words = zip(
        *(
            read(model.words, [numbers(model.embedding(torch.tensor([[word]]))[0, 0]) for word in sentence])
            for sentence in DOCUMENT
        ),
        strict=True,
    )
    document, sentences = read(model.sentences, list(vectors))
    logits = affine(numbers(model.head.weight), document, numbers(model.head.bias))
    assert numbers(output.logits)[0] == pytest.approx(logits, abs=1e-9)
    assert numbers(output.sentences)[0][:3] == pytest.approx(sentences, abs=1e-9)
    for row, weights in enumerate(words):
        assert numbers(output.words)[row][: len(weights)] == pytest.approx(weights, abs=1e-9)
