"""The softmax over keys (or a sparse one in its place) stands in one file, so that masks and empty rows are right everywhere."""

import ast
import re
from collections.abc import Iterator

import pytest
from tests.architecture.cpp import CppSource, cpp_sources, planted_cpp
from tests.architecture.source import PACKAGE, Source, dotted, planted, sources, violations

HOME = "attention/attend.py"
SOFTMAXES = ("softmax", "log_softmax", "gumbel_softmax", "softmin", "Softmax", "LogSoftmax", "Softmin")
SOFTMAXES += ("sparsemax", "entmax15")
KERNELS = ("scaled_dot_product_attention", "flex_attention", "MultiheadAttention")
ELSEWHERE = {
    "decoding/": "turns logits over the vocabulary into log-probabilities of the next token",
    "inference/mask_filler.py": "turns logits over the vocabulary into probabilities of what fills a blank",
    "inference/exploring/recording.py": "turns logits over the vocabulary into log-probabilities of the next token",
    "classification/": "turns logits over labels into probabilities",
    "laws/": "reads log-probabilities of target tokens, over the vocabulary",
    "training/": "reads log-probabilities of target tokens, over the vocabulary",
    "layers/cross_entropy.py": "the loss, over the vocabulary",
    "layers/divergence.py": "the divergence between two predictions, over the vocabulary",
    "layers/mixture.py": "the loss of a sum of predictions, over the vocabulary",
    "layers/experts.py": "the gates' choice, over experts",
}
"""Where a softmax is not over keys, and what it is over."""
CPP_HOME = "native/attention.h"
CPP_SOFTMAX = re.compile(r"\b(\w*softmax\w*|exp|expf|exp_of|scaled_dot_product\w*)\s*(<\w+>\s*)?\(")
"""A softmax in C++ is a call of one, or an exponential."""
CPP_ELSEWHERE = {
    "native/exponential.h": "the exponential itself",
    "native/loss.h": "the loss, over the vocabulary",
    "native/likeliest.h": "turns logits over the vocabulary into log-probabilities",
}


def softmax_has_one_home(source: Source) -> Iterator[str]:
    """Find softmaxes, and kernels that hold one, outside the places that may have them."""
    path = str(source.path)
    if path == HOME:
        return
    forbidden = KERNELS if path.startswith(tuple(ELSEWHERE)) else KERNELS + SOFTMAXES
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in forbidden:
            yield source.at(node, f"{dotted(node.func)}: attention's softmax stands in {HOME} alone")
        elif isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & {*forbidden}:
            yield source.at(node, f"a softmax is imported: attention's stands in {HOME} alone")


def cpp_softmax_has_one_home(source: CppSource) -> Iterator[str]:
    """Find softmaxes and exponentials in C++ outside the places that may have them."""
    if str(source.path) in (CPP_HOME, *CPP_ELSEWHERE):
        return
    for number, line in enumerate(source.code.splitlines(), 1):
        if found := CPP_SOFTMAX.search(line):
            yield source.at(number, f"{found[1]}: attention's softmax in C++ is in {CPP_HOME} alone")


def test_the_softmax_over_keys_has_one_home_in_cpp_too():
    found = "\n".join(finding for source in cpp_sources() for finding in cpp_softmax_has_one_home(source))
    assert not found, found
    (home,) = (source for source in cpp_sources() if str(source.path) == CPP_HOME)
    assert CPP_SOFTMAX.search(home.code)


@pytest.mark.parametrize(
    "text",
    ["w[s] = std::exp(w[s] - most);", "x = exp_of(y);", "at::softmax(scores, -1)", "at::_softmax_out(a, b, 1, false)"],
)
def test_a_second_softmax_in_cpp_is_found(text):
    assert len(list(cpp_softmax_has_one_home(planted_cpp(f"// softmax(x)\n{text}\n")))) == 1
    assert list(cpp_softmax_has_one_home(planted_cpp(f"{text}\n", "native/loss.h"))) == []


def test_the_softmax_over_keys_has_one_home():
    found = violations(softmax_has_one_home, sources(PACKAGE))
    assert not found, found


def test_the_softmax_over_keys_is_at_home():
    (home,) = (source for source in sources(PACKAGE) if str(source.path) == HOME)
    called = [dotted(node.func) for node in ast.walk(home.tree) if isinstance(node, ast.Call)]
    assert any(name.endswith("softmax") for name in called)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("attention/single_head.py", "weights = scores.softmax(-1)"),
        ("attention/hard.py", "weights = F.gumbel_softmax(scores)"),
        ("models/rnn.py", "weights = torch.softmax(query @ keys.mT, -1)"),
        ("models/rnn.py", "from torch.nn.functional import softmax as squash"),
        ("attention/lookup.py", "weights = sparse.sparsemax(scores, mask)"),
        ("models/transformer.py", "from dragoman.attention.sparse import entmax15"),
        ("layers/attention.py", "self.normalise = nn.Softmax(-1)"),
        ("models/transformer.py", "x = torch.nn.functional.scaled_dot_product_attention(q, k, v)"),
        ("decoding/beam.py", "x = F.scaled_dot_product_attention(q, k, v)"),
        ("inspection/alignments.py", "weights = (a @ b).softmax(-1)"),
    ],
)
def test_a_second_softmax_is_found(path, text):
    assert len(list(softmax_has_one_home(planted(text, path)))) == 1


@pytest.mark.parametrize("path", [HOME, "decoding/step.py", "training/objectives.py", "layers/mixture.py"])
def test_a_softmax_over_something_else_is_fine(path):
    assert list(softmax_has_one_home(planted("log_probabilities = logits.log_softmax(-1)", path))) == []
