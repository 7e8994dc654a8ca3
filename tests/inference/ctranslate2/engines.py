"""Small models in both engines, with the same search by each."""

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import torch
from tests.laws.architectures import Architecture
from torch import nn

from dragoman.conversion.specification import describe
from dragoman.data.collate import pad
from dragoman.decoding import DecodingSettings, beam_search, step_of
from dragoman.decoding.hypotheses import Hypothesis
from dragoman.inference.ctranslate2.search import Engine
from dragoman.laws.examples import VOCABULARY, model_of
from dragoman.models.seq2seq import Seq2Seq
from dragoman.models.transformer import TransformerDecoder
from dragoman.text.codec import Codec
from dragoman.text.vocabulary import BOS, Vocabulary
from dragoman.text.words import Words

CODEC = Codec(Words(Vocabulary([f"word{index}" for index in range(4, VOCABULARY)])))
SOURCES = [[5, 6, 7, 8], [4], [9, 9, 9, 12, 11, 4, 5], [10, 3], [7, 8, 7, 8, 7, 8], [4, 12, 6]]


def engine_of(model: Seq2Seq, architecture: Architecture, folder: Path, *, positions: int = 40) -> Engine:
    """Return a model of an architecture in CTranslate2."""
    pieces = list(CODEC.tokenizer.vocabulary)
    spec = describe(model, architecture, pieces, target=pieces)
    spec.optimize()
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    return Engine(folder, CODEC, CODEC, positions=positions, threads=1)


def schooled(architecture: Architecture) -> Seq2Seq:
    """Return an architecture's small model, which has learned what all trained ones have: <pad> and <s> are never written."""
    model = deepcopy(model_of(architecture))
    decoder = model.decoder
    assert isinstance(decoder, TransformerDecoder)
    last = list(decoder.layers)[-1].after_feed_forward.norm if isinstance(decoder.norm, nn.Identity) else decoder.norm
    with torch.no_grad():
        if decoder.head.bias is not None:
            decoder.head.bias[: BOS + 1] = -48
            return model
        last.bias[0] = 8.0
        decoder.head.weight[: BOS + 1] = 0
        decoder.head.weight[: BOS + 1, 0] = -6
    return model


def searched(
    model: Seq2Seq, sources: Sequence[list[int]], settings: DecodingSettings, positions: int = 40
) -> list[list[Hypothesis]]:
    """Search with torch."""
    with torch.inference_mode():
        encoded = model.encoder(pad(sources))
        limits = settings.limits(torch.tensor([len(ids) for ids in sources])).clamp(max=positions - 1)
        found = beam_search(step_of(model.decoder), model.decoder.start(encoded), limits, settings=settings)
    return found.alternatives()
