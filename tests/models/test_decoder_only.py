"""The decoder alone; the laws hold for it as for any decoder."""

import torch
from tests.laws.architectures import ARCHITECTURES

from dragoman.laws.examples import model_of, source, target
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import DecoderOnlySettings, TransformerSettings
from dragoman.training.checkpoint import own_tensors

SIZES = {"decoder_layers": 2, "width": 8, "feed_forward": 12, "heads": 2}
PIECES = Vocabularies(13, 13, shared=True)


def test_the_decoder_has_the_parameters_of_the_transformers_decoder_without_attention_to_the_source() -> None:
    full = own_tensors(build_model(TransformerSettings(**SIZES, encoder_layers=1, tied="target"), PIECES))
    expected = {
        name: tensor.shape for name, tensor in full.items() if name.startswith("decoder.") and "cross" not in name
    }
    own = own_tensors(build_model(DecoderOnlySettings(**SIZES), PIECES))
    assert {name: tensor.shape for name, tensor in own.items()} == expected


def test_the_source_does_not_matter() -> None:
    model, tokens = model_of(ARCHITECTURES["decoder-only"]), target(3, 5)
    logits = model(source([5, 2, 1]), tokens).logits
    assert torch.equal(model(source([3, 4, 9], seed=8), tokens).logits, logits)
