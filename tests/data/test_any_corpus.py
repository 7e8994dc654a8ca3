"""Corpora of any pairs, in every form."""

import json
import re
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.corpus import read_pairs
from dragoman.data.settings import DataSettings
from dragoman.settings import parse

CELLS = st.text(st.characters(exclude_characters="\n\r\t", exclude_categories=["Cs"]), max_size=6)
NOT_IN_XML = re.compile("[\x00-\x1f\ufffe\uffff]")


def unit(pair: tuple[str, str]) -> str:
    """Return a pair as a unit of a translation memory."""
    sides = zip(("en", "vi"), pair, strict=True)
    return f"<tu>{''.join(f'<tuv xml:lang={tag!r}><seg>{escape(text)}</seg></tuv>' for tag, text in sides)}</tu>"


@given(
    pairs=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6),
    kind=st.sampled_from(["lines", "tsv", "jsonl", "nested", "tmx"]),
    first=st.none() | st.integers(1, 7),
    both_ways=st.booleans(),
)
def test_the_pairs_of_any_corpus_are_those_that_were_written(
    pairs: list[tuple[str, str]],
    kind: str,
    first: int | None,
    both_ways: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    if kind == "tmx":
        pairs = [(NOT_IN_XML.sub("", one), NOT_IN_XML.sub("", two)) for one, two in pairs]
    tables = [{"en": source, "vi": target} for source, target in pairs]
    rows = {
        "tsv": [f"x\t{source}\t{target}" for source, target in pairs],
        "jsonl": [json.dumps(one) for one in tables],
        "nested": [json.dumps({"id": 1, "translation": one}, ensure_ascii=False) for one in tables],
        "tmx": ["<tmx>", *map(unit, pairs), "</tmx>"],
        "source": [source for source, _ in pairs],
        "target": [target for _, target in pairs],
    }
    for name, lines in rows.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    corpora: dict[str, dict[str, Any]] = {
        "lines": {"source": "source", "target": "target"},
        "tsv": {"tsv": "tsv", "columns": [1, 2]},
        "tmx": {"tmx": "tmx"},
    }
    corpus = {**corpora.get(kind, {"jsonl": kind}), "first": first, "both_ways": both_ways}
    data = parse(DataSettings, {"source": "en", "target": "vi", "root": folder, "train": [corpus]})
    found = list(read_pairs(data.train[0], data))
    wanted = [(" ".join(one.split()), " ".join(two.split())) for one, two in pairs] if kind == "tmx" else pairs
    wanted = wanted[:first]
    assert [one[:2] for one in found] == wanted + [(two, one) for one, two in wanted] * both_ways
    assert len({one.place for one in found}) == len(wanted)
