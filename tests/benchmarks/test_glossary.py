"""A test glossary from references, and what runs make of it."""

from argparse import Namespace
from pathlib import Path

import pytest
from benchmarks.glossary import make, measure, terms_of
from tests.tiny import Trained

from dragoman.text.links import parse_links

SOURCES = ["The cats sleep.", "Cats like the school.", "A school!"]
REFERENCES = ["Les chats dorment.", "Chats, l'école aiment.", "Une école !"]
LINKS = ["0-0 1-1 2-2", "0-0 1-2 2-1 3-1", "0-0 1-1"]


def test_a_term_is_in_every_reference_of_a_sentence_with_it() -> None:
    found = terms_of(SOURCES, REFERENCES, [parse_links(line) for line in LINKS])
    assert found == [("cats", ["chats"]), ("school", ["école"]), ("like", ["aiment"]), ("sleep", ["dorment"])]
    others = terms_of(SOURCES, [*REFERENCES[:2], "Un lycée !"], [parse_links(line) for line in (*LINKS[:2], "")])
    assert "school" not in dict(others) and "cats" in dict(others)


def test_a_run_is_measured_with_and_without_annotations(
    trained: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {name: tmp_path / f"{name}.tsv" for name in ("source", "reference", "glossary")}
    sources, references = ["I love cats.", "The cats sleep."], ["Tôi yêu mèo con.", "Những con mèo con ngủ."]
    for name, lines in (("source", sources), ("reference", references)):
        paths[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
    paths["glossary"].write_text("cats\tquyển sách\n", encoding="utf-8")
    runs = [trained("transformer"), trained("transformer", "text.glossary.share=0.5")]
    measure(Namespace(**paths, runs=runs, times=1, beam=2))
    _, _, *rows = capsys.readouterr().out.splitlines()
    names = [(run.name, way) for run in runs for way in ("without the glossary", "searched again alone")]
    assert [row.split(" | ")[0][2:] for row in rows] == [
        ", ".join(one) for one in [*names, (runs[1].name, "told the terms")]
    ]
    assert all(" | 0.0 % | 0.0 % | 0 | " in rows[number] for number in (0, 2))
    assert all(" | 0.0 % | 100.0 % | 2 | " in rows[number] for number in (1, 3))


def test_a_glossary_is_made_with_links_that_are_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("train_source", "train_target", "source", "reference", "glossary")
    paths = {name: tmp_path / f"{name}.tsv" for name in names}
    pairs = ["black white small large", "noir blanc petit grand"]
    words = list(zip(*(text.split() for text in pairs), strict=True))
    lines = [[" ".join((one[side], other[side])) for one in words for other in words] for side in (0, 1)]
    for name, some in zip(names, (*lines, ["white cats, black"], ["blanc, noir"]), strict=False):
        paths[name].write_text("\n".join(some) + "\n", encoding="utf-8")
    make(Namespace(**paths))
    assert capsys.readouterr().out == "2 terms, 2 in 1 sentences\n"
    assert paths["glossary"].read_text(encoding="utf-8") == "black\tnoir\nwhite\tblanc\n"
