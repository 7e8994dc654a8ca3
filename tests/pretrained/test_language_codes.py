"""Codes of languages, and names of groups of them."""

import pytest

from dragoman.pretrained.language_codes import GROUPS, M2M100, MBART50, NLLB, is_several


@pytest.mark.parametrize("name", ["mul", "roa", "zle", "ROMANCE", "NORTH_EU", "ZH", "cat_spa"])
def test_a_group_is_several_languages(name: str) -> None:
    assert is_several(name, ["cat", "spa"])


@pytest.mark.parametrize("name", ["cat", "zho", "fr", "pt_BR", "cmn_Hans", "cat_Latn", "cat_oci"])
def test_a_language_is_not_several(name: str) -> None:
    assert not is_several(name, ["cat", "spa"])


def test_no_language_has_the_code_of_a_group() -> None:
    assert not GROUPS & {code.split("_")[0] for code in (*NLLB, *M2M100, *MBART50)}
    assert all(len(code) == 3 and code.islower() for code in GROUPS)
