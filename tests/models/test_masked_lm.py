"""The encoder alone, with an output layer."""

import torch

from dragoman.interfaces import Padded
from dragoman.laws.examples import source
from dragoman.models.build import build_model
from dragoman.models.masked_lm import MaskedLanguageModel
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import MaskedSettings, TransformerSettings
from dragoman.special_ids import MASK
from dragoman.training.checkpoint import own_tensors

SIZES = {"encoder_layers": 2, "width": 8, "feed_forward": 12, "heads": 2}
PIECES = Vocabularies(13, 13, shared=True)


def model() -> MaskedLanguageModel:
    """A small model, the same at every call."""
    torch.manual_seed(1)
    made = build_model(MaskedSettings(**SIZES), PIECES)
    assert isinstance(made, MaskedLanguageModel)
    return made.eval()


def test_the_encoder_has_the_parameters_of_the_transformers_encoder() -> None:
    full = own_tensors(build_model(TransformerSettings(**SIZES, decoder_layers=1), PIECES))
    expected = {name: tensor.shape for name, tensor in full.items() if name.startswith("encoder.")}
    own = {name: tensor.shape for name, tensor in own_tensors(model()).items()}
    assert own == expected | {"head.bias": (13,)}


def test_each_position_is_told_from_both_sides() -> None:
    sentence = source([6])
    first, last = (Padded(sentence.ids.clone(), sentence.mask) for _ in range(2))
    first.ids[0, 0], last.ids[0, 4] = MASK, MASK
    features = model()(sentence)
    for changed in (first, last):
        assert (model()(changed)[0, 2] - features[0, 2]).abs().max() > 1e-4


def test_the_output_layer_shares_the_embedding() -> None:
    made = model()
    assert made.head.weight is made.encoder.embedding.weight
    assert made.head(made(source([3, 2]))).shape == (2, 3, 13)
