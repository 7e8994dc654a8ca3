"""Law 12: on exports. Like those in `laws`, its parts fail with an AssertionError where they are broken."""

import re
from pathlib import Path

import pytest
from tests.inference.ctranslate2.engines import SOURCES, engine_of, schooled, searched
from tests.laws.architectures import ARCHITECTURES, Architecture, transformer

from dragoman.conversion.specification import obstacles
from dragoman.decoding import DecodingSettings
from dragoman.errors import InputError
from dragoman.laws.examples import model_of

MORE: dict[str, Architecture] = {
    "shaw alone": transformer(relative="shaw", positions="none"),
    "no positions": transformer(positions="none", encoder_layers=1),
    "t5 alone": transformer(relative="t5", positions="none", output_bias=True),
    "dot, rotary": transformer(self_score="dot", relative="rotary", positions="none"),
    "cosine, rotary": transformer(self_score="cosine", relative="rotary", positions="none"),
    "cosine, t5": transformer(self_score="cosine", relative="t5", positions="none"),
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


def law_12_an_export_translates_the_same(architecture: Architecture, folder: Path) -> None:
    """Both engines find the same translations with the same scores, greedily and with beams."""
    model = schooled(architecture)
    engine = engine_of(model, architecture, folder)
    for settings in SEARCHES:
        found = zip(SOURCES, searched(model, SOURCES, settings), engine.search(SOURCES, settings), strict=True)
        for source, own, other in found:
            cut = any(len(one.ids) >= settings.limit(len(source)) for one in own)
            compared = 1 if cut else settings.n_best  # of those at the longest length only the best must be the same
            assert [one.ids for one in other[:compared]] == [one.ids for one in own[:compared]]
            assert [one.score for one in other[:compared]] == pytest.approx(
                [one.score for one in own[:compared]], abs=1e-4
            )


def law_12_what_cannot_be_exported_is_refused(architecture: Architecture, folder: Path) -> None:
    """One sentence names the setting that CTranslate2 cannot express, and nothing is written."""
    sentence = ""
    try:
        engine_of(model_of(architecture), architecture, folder)
    except InputError as refused:
        sentence = str(refused)
    assert re.search(r"CTranslate2 .*(kind `|`model\.)", sentence) and "\n" not in sentence
    assert not folder.exists() or not any(folder.iterdir())
