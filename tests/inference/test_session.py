"""How finished models compute."""

from typing import Any

import pytest
import torch
from tests.tiny import Trained, odd_torch
from torch import nn

from dragoman.errors import InputError
from dragoman.inference.session import Session
from dragoman.inference.translator import Translator
from dragoman.layers.linear import linear


def test_weights_that_may_still_change_are_not_packed() -> None:
    assert Session([nn.Linear(4, 4)]).pack("float32") is None


def test_weights_are_packed_once_for_each_precision() -> None:
    session = Session([nn.Linear(64, 64)], fixed=True)
    packed = session.pack("float32")
    assert packed is not None and session.pack("float32") is packed
    rounded = session.pack("bfloat16")
    assert rounded is not None and (packed.precision, rounded.precision) == ("float32", "bfloat16")


def test_two_calls_may_compute_in_different_precisions() -> None:
    torch.manual_seed(1)
    session = Session([nn.Linear(128, 128)], fixed=True)
    weight, inputs = session.models[0].weight, torch.randn(3, 128)
    results = {}
    for precision in ("float32", "bfloat16", "float32"):
        with session.computing(session.pack(precision), rows=1):
            assert torch.is_inference_mode_enabled()
            results.setdefault(precision, []).append(linear(inputs, weight, None))
    assert not torch.is_inference_mode_enabled()
    assert torch.equal(*results["float32"])
    torch.testing.assert_close(results["float32"][0], inputs @ weight.T, atol=1e-5, rtol=1e-5)
    assert not torch.equal(results["float32"][0], results["bfloat16"][0])


def test_there_must_be_a_run() -> None:
    with pytest.raises(InputError, match="no run is given"):
        Translator.load()


@pytest.mark.parametrize("given", [["runs/a", "runs/b"], None, 3])
def test_runs_are_paths(given: Any) -> None:
    with pytest.raises(InputError, match=r"is not the path of a run; give each path as an argument"):
        Translator.load(given)


@pytest.mark.parametrize("model", ["rnn", "transformer"])
def test_a_translator_computes_the_same_whatever_the_caller_has_set_in_torch(trained: Trained, model: str) -> None:
    sources, targets = ["I love cats.", "This is a book."], ["Tôi yêu mèo.", "Đây là một quyển sách."]
    translator = Translator.load(trained(model))

    def computed() -> list[Any]:
        maps = translator.attention_maps(sources, targets)
        if model == "transformer":
            maps.append(translator.self_attention_map(sources[0], targets[0], of="decoder"))
        found = [one.text for one in translator.translate(sources)]
        return [found, translator.score(sources, targets), [one.weights.tolist() for one in maps]]

    usual = computed()
    with odd_torch(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert computed() == usual
