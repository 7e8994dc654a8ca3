"""SentencePiece models, as they are or made from `tokenizer.json`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.pretrained.tokenizer_files import sentencepiece, texts

from dragoman.errors import ImportModelError
from dragoman.pretrained.language_codes import M2M100, MBART25, MBART50, NLLB
from dragoman.pretrained.sentencepiece_files import Added, added_tokens, read_segmenter


def test_the_first_file_is_read(tmp_path: Path) -> None:
    model = sentencepiece(texts())
    (tmp_path / "b.model").write_bytes(model)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    found = read_segmenter(tmp_path, "a.model", "b.model")
    assert (found.model, found.final, found.silent) == (model, False, {"<s>", "</s>"})


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    for model in (
        {"type": "Unigram", "unk_id": 0, "vocab": [["a"]]},
        {"type": "Unigram", "unk_id": 5, "vocab": [["a", 0]]},
    ):
        (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model}), encoding="utf-8")
        with pytest.raises(ImportModelError, match=r"tokenizer\.json is damaged; download it again"):
            read_segmenter(tmp_path, "a.model")


@pytest.mark.parametrize(
    "rule", [{"type": "Lowercase"}, {"type": "NFKC"}, {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}]
)
def test_rules_that_sentencepiece_has_not_are_named(tmp_path: Path, rule: dict[str, Any]) -> None:
    spaces = [
        {"type": "Strip", "strip_left": False, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
    ]
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁a", -1]]}
    for rules, named in ((spaces, ""), ([*spaces, rule], rule["type"])):
        table = {"model": model, "normalizer": {"type": "Sequence", "normalizers": rules}}
        (tmp_path / "tokenizer.json").write_text(json.dumps(table), encoding="utf-8")
        if named:
            with pytest.raises(
                ImportModelError, match=rf"tokenizer\.json changes text by `{named}`, .* original `\.model`"
            ):
                read_segmenter(tmp_path, "a.model")
        else:
            assert read_segmenter(tmp_path, "a.model").pieces == ("<unk>", "▁a")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.model").mkdir()
    with pytest.raises(ImportModelError, match=r"a\.model cannot be read"):
        read_segmenter(tmp_path, "a.model")


def test_added_tokens_are_found_in_every_file(tmp_path: Path) -> None:
    assert added_tokens(tmp_path) == {}
    tables: dict[str, Any] = {
        "tokenizer.json": {"added_tokens": [{"id": 4, "content": "<x>", "special": True}]},
        "tokenizer_config.json": {"added_tokens_decoder": {"5": {"content": "y", "special": False}}},
        "added_tokens.json": {"__zz__": 6, "<x>": 9},
    }
    for name, table in tables.items():
        (tmp_path / name).write_text(json.dumps(table), encoding="utf-8")
    assert added_tokens(tmp_path) == {"<x>": Added(4, True), "y": Added(5, False), "__zz__": Added(6, True)}


def test_the_languages_are_all_there() -> None:
    assert [len(set(codes)) for codes in (M2M100, NLLB, MBART50, MBART25)] == [100, 202, 52, 25]
    assert (M2M100[0], M2M100[-1]) == ("af", "zu") and MBART50.index("en_XX") == 3 and MBART25[-1] == "zh_CN"
    assert NLLB.index("eng_Latn") + 256001 == 256047  # as in the published models
