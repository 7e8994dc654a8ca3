"""Batches of ids through one model or several; text in and text out is tested in `test_translator`."""

import dataclasses
import math
from collections.abc import Sequence
from copy import deepcopy

import pytest
import torch
from tests.inference.ctranslate2.engines import CODEC, SOURCES
from tests.laws.architectures import recurrent, transformer

from dragoman.data.collate import collate
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import InputError, RunError
from dragoman.inference import batching, torch_engine
from dragoman.inference.requests import EncodedRequest, Request
from dragoman.inference.session import Session
from dragoman.inference.torch_engine import TorchEngine, output_layer
from dragoman.laws.examples import VOCABULARY, Architecture, model_of

RNN = recurrent()
TRANSFORMER = transformer()
MODELS = pytest.mark.parametrize("architecture", [RNN, TRANSFORMER], ids=["rnn", "transformer"])
TARGETS = [[4, 5], [], [9, 8, 7, 6, 5, 4], [12], [4, 4], [6]]
SHORT = {"maximum_ratio": 1.0, "maximum_extra": 2}


def engine_of(*architectures: Architecture) -> TorchEngine:
    """Return the engine of small models."""
    return TorchEngine(Session([model_of(one) for one in architectures]))


def requests(sources: Sequence[list[int]], models: int = 1, *, first: int = 1) -> list[EncodedRequest]:
    """Return requests to translate sources, which each of the models reads alike."""
    return [EncodedRequest(Request("", number), (ids,) * models) for number, ids in enumerate(sources, first)]


def pairs(models: int = 1) -> list[EncodedRequest]:
    """Return requests to score."""
    return [
        dataclasses.replace(request, target=target)
        for request, target in zip(requests(SOURCES, models), TARGETS, strict=True)
    ]


def probabilities(architecture: Architecture, source: list[int], target: list[int]) -> list[float]:
    """Return a model's probability of each token of a target, and of its end."""
    batch = collate([(source, target)])
    with torch.inference_mode():
        logits = model_of(architecture)(batch.source, batch.inputs).logits[0]
    return logits.softmax(-1).gather(1, batch.labels[0][:, None])[:, 0].tolist()


@MODELS
def test_large_inputs_are_cut_into_batches(architecture: Architecture, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, settings = engine_of(architecture), DecodingSettings(beam=3, **SHORT)
    given = requests([*SOURCES[:2], [], *SOURCES[2:]])
    together, scores = engine.search(given, settings), engine.score(pairs(), settings)
    monkeypatch.setattr(torch_engine, "BATCH_CELLS", 1)
    alone = engine.search(given, settings)
    assert [[one.ids for one in found] for found in alone] == [[one.ids for one in found] for found in together]
    assert [len(found) for found in alone] == [1, 1, 0, 1, 1, 1, 1]
    for one, other in zip(engine.score(pairs(), settings), scores, strict=True):
        assert one.ids == other.ids and one.log_prob == pytest.approx(other.log_prob, abs=1e-4)


@MODELS
def test_no_batch_has_more_logits_than_memory_allows(
    architecture: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, most = DecodingSettings(beam=3, **SHORT), 20 * VOCABULARY
    expected = engine_of(architecture).search(requests(SOURCES), settings)
    monkeypatch.setattr(batching, "BATCH_LOGITS", most)
    model = deepcopy(model_of(architecture))
    sizes: list[int] = []
    output_layer(model).register_forward_hook(lambda layer, given, logits: sizes.append(logits.numel()))
    engine = TorchEngine(Session([model]))
    found = engine.search(requests(SOURCES), settings)
    assert [[one.ids for one in some] for some in found] == [[one.ids for one in some] for some in expected]
    assert 6 * 3 * VOCABULARY <= max(sizes) <= most
    sizes.clear()
    engine.score(pairs(), DecodingSettings())
    assert most / 2 < max(sizes) <= most


@MODELS
def test_scores_are_sums_of_log_probabilities(architecture: Architecture) -> None:
    found = engine_of(architecture).score(pairs(), DecodingSettings())
    for one, source, target in zip(found, SOURCES, TARGETS, strict=True):
        expected = [math.log(chance) for chance in probabilities(architecture, source, target)]
        assert one.ids == target
        assert one.token_log_probs == pytest.approx(expected, abs=1e-4)
        assert one.log_prob == pytest.approx(sum(expected), abs=1e-3)


def test_an_ensemble_averages_the_probabilities_of_each_token() -> None:
    engine = engine_of(RNN, TRANSFORMER)
    for one, source, target in zip(engine.score(pairs(2), DecodingSettings()), SOURCES, TARGETS, strict=True):
        both = zip(*(probabilities(architecture, source, target) for architecture in (RNN, TRANSFORMER)), strict=True)
        averaged = [sum(two) / 2 for two in both]
        assert [math.exp(token) for token in one.token_log_probs] == pytest.approx(averaged, rel=1e-5)


def test_what_an_ensemble_finds_has_its_own_score() -> None:
    engine, settings = engine_of(RNN, TRANSFORMER), DecodingSettings(beam=3, **SHORT)
    for request, (best,) in zip(requests(SOURCES, 2), engine.search(requests(SOURCES, 2), settings), strict=True):
        (scored,) = engine.score([dataclasses.replace(request, target=best.ids)], settings)
        assert scored.log_prob == pytest.approx(best.log_prob, abs=1e-4)


def test_a_draw_depends_on_the_seed_and_the_number_of_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, settings = engine_of(RNN), DecodingSettings(method="sample", temperature=3.0, **SHORT)
    found = engine.search(requests([SOURCES[0]] * 4), settings)
    assert len({tuple(best.ids) for (best,) in found}) > 1
    monkeypatch.setattr(torch_engine, "BATCH_CELLS", 1)
    for number, alternatives in enumerate(found, 1):
        (alone,) = engine.search(requests([SOURCES[0]], first=number), settings)
        assert [one.ids for one in alone] == [one.ids for one in alternatives]
    other = engine.search(requests([SOURCES[0]] * 4), settings.model_copy(update={"seed": 2}))
    assert [best.ids for (best,) in other] != [best.ids for (best,) in found]


def test_coverage_can_change_the_order_but_not_the_log_probability() -> None:
    engine, settings = engine_of(RNN), DecodingSettings(beam=4, n_best=4, **SHORT)
    plain = engine.search(requests(SOURCES), settings)
    covered = engine.search(requests(SOURCES), settings.model_copy(update={"coverage_penalty": 5.0}))
    for one, other in zip(plain, covered, strict=True):
        logs = [{tuple(found.ids): round(found.log_prob, 4) for found in alternatives} for alternatives in (one, other)]
        assert logs[0] == logs[1]
        scores = [found.score for found in other]
        assert scores == sorted(scores, reverse=True) and scores[0] <= one[0].score
    assert [[one.ids for one in found] for found in covered] != [[one.ids for one in found] for found in plain]


def test_no_translation_is_longer_than_the_positions_of_the_model() -> None:
    bounded = transformer(positions="learned", max_positions=6)
    settings = DecodingSettings(minimum_length=5, maximum_extra=20)
    (found,) = engine_of(bounded).search(requests([[4, 5, 6]]), settings)
    assert [len(one.ids) for one in found] == [5]


def test_an_engine_knows_which_heads_attend_to_the_source() -> None:
    assert engine_of(transformer(decoder_layers=3, heads=4)).source_heads == (3, 4)
    assert engine_of(recurrent(decoder="plain")).source_heads is None
    assert engine_of(RNN).capabilities is None


def test_maps_are_of_the_first_model_in_the_order_of_the_requests() -> None:
    found = engine_of(TRANSFORMER, RNN).attention_maps(pairs(2), (CODEC, CODEC), DecodingSettings())
    assert [one.weights.shape for one in found] == [
        (2, 2, len(target) + 1, len(source) + 1) for source, target in zip(SOURCES, TARGETS, strict=True)
    ]
    assert [one.source.pieces[:-1] for one in found] == [CODEC.pieces(ids) for ids in SOURCES]


def test_a_shortlist_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="made without a shortlist"):
        engine_of(RNN).prepare(DecodingSettings(shortlist=True), 13)
    with pytest.raises(InputError, match=r"`model\.marginal`.*`decoding\.shortlist: false`"):
        output_layer(model_of(recurrent(marginal=True)))


class Broken(torch.nn.Module):
    """A decoder whose features are not numbers, though its weights are."""

    def __init__(self, right: torch.nn.Module) -> None:
        super().__init__()
        self.right = right
        self.start = right.start

    def forward(self, *given: object, **options: object) -> object:
        output, state = self.right(*given, **options)
        attention = None if output.attention is None else output.attention * math.nan
        return dataclasses.replace(output, features=output.features * math.nan, attention=attention), state


def test_results_that_are_not_numbers_are_refused() -> None:
    model = deepcopy(model_of(RNN))
    model.decoder = Broken(model.decoder)
    engine = TorchEngine(Session([model]))
    for use in (
        lambda: engine.search(requests(SOURCES), DecodingSettings()),
        lambda: engine.search(requests(SOURCES), DecodingSettings(method="sample")),
        lambda: engine.score(pairs(), DecodingSettings()),
        lambda: engine.attention_maps(pairs(), (CODEC, CODEC), DecodingSettings()),
    ):
        with pytest.raises(RunError, match=r"NaN.*another checkpoint"):
            use()
