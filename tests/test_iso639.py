"""Codes of languages in two letters, and as other programs write them."""

import pytest

from dragoman.iso639 import base_code, language_tag
from dragoman.pretrained.language_codes import M2M100, MBART50, NLLB


@pytest.mark.parametrize(
    ("codes", "base", "tag"),
    [
        (("vi", "vie", "vie_Latn", "vi_VN", "VI"), "vi", "vi"),
        (("eng_Latn", "en_XX"), "en", "en"),
        (("zho_Hans", "zh-Hans"), "zh", "zh-Hans"),
        (("pt-BR", "pt_BR"), "pt", "pt-BR"),
        (("swh_Latn", "swa"), "sw", "sw"),
        (("ace_Arab",), "ace", "ace-Arab"),
    ],
)
def test_a_language_has_one_code(codes: tuple[str, ...], base: str, tag: str):
    assert {base_code(one) for one in codes} == {base}
    assert {language_tag(one).lower() for one in codes} == {tag.lower()}


def test_every_language_of_an_imported_model_has_a_tag_as_others_write_it():
    known = {base_code(one) for one in NLLB}
    assert {base_code(one) for one in MBART50} <= known
    assert {one for one in M2M100 if len(one) == 2} - known == {"br", "ff", "fy", "no", "ns"}
    assert not any("_" in language_tag(one) for one in (*NLLB, *MBART50, *M2M100))
