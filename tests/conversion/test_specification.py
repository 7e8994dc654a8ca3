"""A Transformer in the terms of CTranslate2. That it translates the same is law 12."""

from typing import Any

import pytest
from tests.laws.architectures import ARCHITECTURES, transformer

from dragoman import plugins
from dragoman.attention.settings import HardSettings
from dragoman.conversion.specification import describe, obstacles, refuse
from dragoman.errors import ExportError, InputError
from dragoman.laws.examples import VOCABULARY, model_of
from dragoman.plugins import Plugin, PluginKind

PIECES = [f"piece{number}" for number in range(VOCABULARY)]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"self_score": "additive"}, "model.self_score: additive"),
        ({"cross_score": "cosine"}, "model.cross_score: cosine"),
        ({"cross_score": "location"}, "model.cross_score: location"),
        ({"cross_weights": "sparsemax"}, "model.cross_weights: sparsemax"),
        ({"relative": "alibi"}, "model.relative: alibi"),
        ({"relative": "t5_shared"}, "model.relative: t5_shared` with `model.positions: sinusoidal"),
        ({"relative": "shaw", "positions": "sinusoidal"}, "model.positions: sinusoidal"),
        ({"hard": HardSettings(training="gumbel")}, "model.hard"),
    ],
)
def test_what_cannot_be_expressed_is_named(settings: dict[str, object], named: str) -> None:
    assert any(named in what for what in obstacles(transformer(**settings)))
    with pytest.raises(InputError, match="CTranslate2"):
        refuse(transformer(**settings))


def test_other_kinds_are_named_by_their_kind() -> None:
    assert "`rnn`" in next(obstacles(ARCHITECTURES["plain gru"]))


def test_the_description_has_the_sizes_of_the_model() -> None:
    settings = transformer(encoder_layers=1, decoder_layers=2, norm="post")
    spec = describe(model_of(settings), settings, PIECES, target=PIECES)
    assert (len(spec.encoder.layer), len(spec.decoder.layer)) == (1, 2)
    assert spec.decoder.projection.weight.shape == (VOCABULARY, 8)


@pytest.mark.parametrize("settings", [{"positions": "mine"}, {"positions": "none", "relative": "mine"}])
def test_what_a_plugin_computes_is_refused(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: tuple[PluginKind, ...] = ("positions", "relative")
    monkeypatch.setattr(plugins, "_registered", {(kind, "mine"): Plugin(kind, "mine", lambda: None) for kind in kinds})
    with pytest.raises(ExportError, match=f"cannot express `model.{[*settings][-1]}: mine`"):
        refuse(transformer(**settings))


def test_the_layer_that_makes_word_alignments_may_be_chosen() -> None:
    settings = transformer()
    for attends, layer in ((None, 1), (1, 0)):
        spec = describe(model_of(settings), settings, PIECES, target=PIECES, attends=attends)
        assert spec.decoder.alignment_layer.numpy() == layer
