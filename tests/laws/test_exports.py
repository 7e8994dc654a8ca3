"""Law 12: exported models give the same translations, or are refused by name."""

from pathlib import Path

import pytest
from tests.inference.ctranslate2.engines import SOURCES, engine_of, schooled, searched
from tests.laws.architectures import ARCHITECTURES, Architecture, model_of, transformer

from dragoman.conversion.specification import obstacles
from dragoman.decoding import DecodingSettings
from dragoman.errors import InputError

MORE: dict[str, Architecture] = {
    "shaw alone": transformer(relative="shaw", positions="none"),
    "no positions": transformer(positions="none", encoder_layers=1),
    "dot, rotary": transformer(self_score="dot", relative="rotary", positions="none"),
    "general on both sides, gated, post-norm": transformer(
        self_score="general", cross_score="general", gated=True, norm="post", heads=4
    ),
}
EXPORTED = {name: one for name, one in {**ARCHITECTURES, **MORE}.items() if not list(obstacles(one))}
REFUSED = {name: one for name, one in ARCHITECTURES.items() if name not in EXPORTED}
SEARCHES = (
    DecodingSettings(method="greedy"),
    DecodingSettings(beam=3, n_best=2, stopping="full"),
    DecodingSettings(beam=2),
)


def test_what_is_expected_to_be_exported_is():
    wanted = {"transformer pre-norm, sinusoidal", "transformer post-norm, learned", "transformer, gated", *MORE}
    wanted |= {
        "transformer, rotary",
        "transformer, target tied",
        "transformer, nothing tied",
        "transformer, dot to itself",
    }
    assert wanted <= set(EXPORTED)


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_models_give_the_same_translations(name: str, tmp_path: Path):
    model = schooled(EXPORTED[name])
    engine = engine_of(model, EXPORTED[name], tmp_path)
    for settings in SEARCHES:
        found = zip(SOURCES, searched(model, SOURCES, settings), engine.search(SOURCES, settings), strict=True)
        for source, own, other in found:
            cut = any(len(one.ids) >= settings.limit(len(source)) for one in own)
            compared = 1 if cut else settings.n_best  # of those at the longest length only the best must be the same
            assert [one.ids for one in other[:compared]] == [one.ids for one in own[:compared]]
            assert [one.score for one in other[:compared]] == pytest.approx(
                [one.score for one in own[:compared]], abs=1e-4
            )


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_exported_is_refused_by_name(name: str, tmp_path: Path):
    with pytest.raises(InputError, match=r"CTranslate2 cannot express .*(kind `|`model\.)") as refused:
        engine_of(model_of(REFUSED[name]), REFUSED[name], tmp_path)
    assert "\n" not in str(refused.value)
    assert not any(tmp_path.iterdir())
