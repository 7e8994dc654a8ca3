"""Law 12: exported models give the same translations, or are refused by name."""

from pathlib import Path

import pytest
from tests.laws.law_of_exports import (
    EXPORTED,
    MORE,
    REFUSED,
    law_12_an_export_translates_the_same,
    law_12_what_cannot_be_exported_is_refused,
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
    law_12_an_export_translates_the_same(EXPORTED[name], tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_exported_is_refused_by_name(name: str, tmp_path: Path):
    law_12_what_cannot_be_exported_is_refused(REFUSED[name], tmp_path)
