"""Codes of languages as clients write them."""

import pytest

from dragoman.serving.languages import find_language, find_variant, language_name


@pytest.mark.parametrize(
    ("code", "known", "found"),
    [
        ("VI", ["en", "vi"], "vi"),
        ("pt-BR", ["pb"], "pb"),
        ("pb", ["pt-BR"], "pt-BR"),
        ("ZH-HANS", ["zh", "zt"], "zh"),
        ("zh-hant", ["zh", "zt"], "zt"),
        ("zh", ["zh-Hans"], "zh-Hans"),
        ("pt-BR", ["pt"], None),
        ("vi_VN", ["vi"], None),
        ("", ["vi"], None),
        ("eng_Latn", ["eng_Latn"], "eng_Latn"),
        ("en", ["eng_Latn", "vie_Latn"], "eng_Latn"),
        ("ro", ["ron_Latn", "vie_Latn"], "ron_Latn"),
        ("vi", ["fra", "vie"], "vie"),
        ("vi", ["en_XX", "vi_VN"], "vi_VN"),
        ("zh", ["zho_Hans", "zho_Hant"], "zho_Hans"),
        ("zt", ["zho_Hans", "zho_Hant"], "zho_Hant"),
        ("zh-Hant", ["zh_CN", "zh_TW"], "zh_TW"),
    ],
)
def test_the_same_language_is_found(code: str, known: list[str], found: str | None):
    assert find_language(code, known) == found


@pytest.mark.parametrize(
    ("code", "known", "found"),
    [
        ("EN-GB", ["en"], "en"),
        ("pt-pt", ["pt", "pt-BR"], "pt"),
        ("ZH", ["zh-Hant"], "zh-Hant"),
        ("ZH-HANT", ["zh"], None),
        ("ZH-HANT", ["zh", "zt"], "zt"),
        ("XX", ["en"], None),
        ("", ["en"], None),
    ],
)
def test_a_variant_is_translated_by_its_language(code: str, known: list[str], found: str | None):
    assert find_variant(code, known) == found


def test_languages_have_names():
    assert [language_name(code) for code in ("EN", "vi_VN", "qq")] == ["English", "Vietnamese", "qq"]
