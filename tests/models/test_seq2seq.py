"""An encoder and a decoder together."""

import torch
from tests.laws.architectures import ARCHITECTURES

from dragoman.laws.examples import fresh_model, source, target


def test_a_model_encodes_once_and_decodes_all_positions() -> None:
    model = fresh_model(ARCHITECTURES["bahdanau gru additive"]).eval()
    sentences, prefixes = source([5, 3]), target(2, 4)
    output, _ = model.decoder(prefixes, model.decoder.start(model.encoder(sentences)))
    assert torch.equal(model(sentences, prefixes).logits, output.logits)
    assert model(sentences, prefixes).attention is None
    assert model(sentences, prefixes, need_weights=True).attention is not None
