"""Self-attention is drawn as the model computes it, on either side."""

import threading
from pathlib import Path

import pytest
import torch
from tests.tiny import Trained, dragoman, refusal

from dragoman.errors import InputError
from dragoman.inference.self_attention import map_self_attention
from dragoman.inference.translator import Translator

SENTENCE, TRANSLATION = "I love cats.", "Tôi yêu mèo."


@pytest.fixture
def translator(trained: Trained) -> Translator:
    """Load a small Transformer."""
    return Translator.load(trained("transformer"), device="cpu")


def test_rows_are_weights_and_the_decoder_sees_nothing_later(translator: Translator) -> None:
    for of in ("encoder", "decoder"):
        reading = translator.self_attention_map(SENTENCE, TRANSLATION, of=of)
        weights = reading.weights
        assert weights.shape[2] == weights.shape[3] == len(reading.source.pieces) == len(reading.target.pieces)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:3]))
        assert (of == "decoder") == bool((weights.triu(1) == 0).all())
    assert reading.source.pieces[0] == "<s>" and reading.source.words == ["Tôi", "yêu", "mèo."]


def test_weights_are_those_of_the_first_layer_computed_by_hand(translator: Translator) -> None:
    model = translator.models[0]
    reading = translator.self_attention_map(SENTENCE, TRANSLATION, of="encoder")
    ids = torch.tensor([[*translator.source.encode(SENTENCE), translator.source.special.eos]])
    layer = model.encoder.layers[0]
    states = layer.after_attention.normed_input(model.encoder.positions(model.encoder.embedding(ids)))
    attention, keys = layer.attention, layer.attention.key_value(states).chunk(2, -1)[0]
    split = [one.unflatten(-1, (attention.heads, -1)).transpose(1, 2) for one in (attention.query(states), keys)]
    expected = (split[0] @ split[1].mT / split[0].shape[-1] ** 0.5).softmax(-1)[0]
    torch.testing.assert_close(reading.weights[0], expected, atol=1e-5, rtol=1e-4)


def test_nothing_is_left_on_the_model_and_other_threads_see_nothing(translator: Translator) -> None:
    before = translator.translate([SENTENCE])[0].text
    seen: list[str] = []
    other = threading.Thread(target=lambda: seen.append(translator.translate([SENTENCE])[0].text))
    other.start()
    reading = translator.self_attention_map(SENTENCE, TRANSLATION, of="decoder")
    other.join()
    assert seen == [before] and reading.weights.shape[0] == len(list(translator.models[0].decoder.layers))
    hooks = [one._forward_hooks or one._forward_pre_hooks for one in translator.models[0].modules()]
    assert not any(hooks)


def test_a_model_without_self_attention_is_refused(trained: Trained) -> None:
    recurrent = Translator.load(trained("rnn"), device="cpu")
    with pytest.raises(InputError, match=r"the encoder of this model has no self-attention"):
        map_self_attention(recurrent.models[0], (recurrent.source, recurrent.target), ([4], [5]), of="encoder")


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_the_command_draws_it(trained: Trained, tmp_path: Path, side: str) -> None:
    options = ["--attention", side, "--target", TRANSLATION, "--output", tmp_path / "page.html"]
    found = dragoman("attend", trained("transformer"), SENTENCE, *options)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found.code == 0 and f"Self-attention of the {side}" in page
    assert ">key →<br>query ↓<" in page and ">source" not in page  # both axes are one sentence
    assert "has no self-attention" in refusal("attend", trained("rnn"), SENTENCE, *options)
