"""How the text of a language is written is noticed: spaces between words, capitals at the starts of lines."""

from pathlib import Path
from typing import Any

import pytest
from tests.tiny import left_to_auto

from dragoman.jobs.auto import choose_text, measure_corpus


@pytest.mark.parametrize(
    ("target", "spaced"),
    [
        ("một hai ba", True),
        ("một", True),
        ("一二三四五六七八九十一二三四五", False),
        ("你好吗", False),  # a short line
        ("我 喜欢 猫", True),  # segmented
        ("ฉันชอบแมว", False),
        ("나는 고양이를 좋아한다", True),
        ("一二三四五六七八九 十一二三四五六七八", False),
    ],
)
def test_a_language_without_spaces_is_noticed(tmp_path: Path, target: str, spaced: bool) -> None:
    (tmp_path / "a.en").write_text("one two three\n" * 3, encoding="utf-8")
    (tmp_path / "a.zh").write_text(f"{target}\n" * 3, encoding="utf-8")
    given = left_to_auto(f"data.root={tmp_path}", "data.train=[{source: a.en, target: a.zh}]")
    assert measure_corpus(given).spaced == spaced


def test_languages_are_measured_apart_where_a_side_has_several(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(
        "one two three four five six\t一二三四五六七八九十一二三四五\n" * 3, encoding="utf-8"
    )
    data = f"{{languages: [en, zh], source: en, target: zh, root: {tmp_path}, train: [{{tsv: a.tsv, both_ways: true}}]"
    given = left_to_auto(f"data={data}, dev: [{{tsv: a.tsv}}]}}")
    assert not measure_corpus(given).spaced


@pytest.mark.parametrize(
    ("lines", "mixed"),
    [
        (["The cat", "A dog", "it is"], True),
        ([*["The cat"] * 9, "is it", '"it'], False),
        ([*["The cat"] * 8, "is it", '"it'], True),
        (["the Cat", "a Dog", "1. It"], False),
        (["THE CAT", "the cat", "一二"], False),
    ],
)
def test_text_with_capitals_beside_text_without_is_noticed(tmp_path: Path, lines: list[str], mixed: bool) -> None:
    for name, text in (("a.en", lines), ("a.vi", ["ba"] * len(lines))):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    given = left_to_auto(f"data.root={tmp_path}", "data.train=[{source: a.en, target: a.vi}]")
    size = measure_corpus(given)
    assert size.mixed_casing is mixed

    def chosen(*text: str) -> list[Any]:
        return [one.value for one in choose_text(left_to_auto(*text), size) if one.path == "text.inline_casing"]

    assert chosen("text.inline_casing=auto") == [mixed] and chosen() == []
    assert chosen("text.inline_casing=auto", "text.lower=true") == [False]
