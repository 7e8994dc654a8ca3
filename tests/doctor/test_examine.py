"""The examination as a whole."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.doctor.conftest import Examined, good

from dragoman.data.corpus import read_pairs
from dragoman.data.settings import DataSettings
from dragoman.doctor.examine import CHECKS, Verdict, examine
from dragoman.doctor.vocabulary import NAMES as VOCABULARY
from dragoman.errors import CorpusError
from dragoman.settings import parse


def verdict_of(folder: Path, languages: tuple[str, str] = ("en", "fr"), **corpus: Any) -> Verdict:
    """Examine one corpus in a folder."""
    return examine(
        parse(DataSettings, {"source": languages[0], "target": languages[1], "root": folder, "train": [corpus]})
    )


def names(verdict: Verdict) -> list[str]:
    """Return the names of findings, without those about sizes."""
    return [one.name for one in verdict.findings if one.name not in ("too-little-data", "languages-not-identified")]


def test_a_good_corpus_has_no_findings(examined: Examined) -> None:
    assert examined(good(3000), good(300, first=5000)) == []


@pytest.mark.parametrize("languages", [("en", "vi"), ("en", "fr")])
def test_the_built_in_corpus_has_neither_errors_nor_warnings(languages: tuple[str, str], tmp_path: Path) -> None:
    parts = {"train": [{"phrasebook": "train", "pairs": 3000}], "dev": [{"phrasebook": "dev", "pairs": 300}]}
    found = examine(parse(DataSettings, {"source": languages[0], "target": languages[1], **parts}))
    assert [one.sentence for one in (*found.of("error"), *found.of("warning"))] == []
    assert [corpus.pairs for corpus in found.corpora] == [300, 3000]


def test_files_of_different_lengths_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("".join(f"{source}\n" for source, _ in good(300)), encoding="utf-8")
    (tmp_path / "a.fr").write_text("".join(f"{target}\n" for _, target in good(290)), encoding="utf-8")
    found = verdict_of(tmp_path, source="a.en", target="a.fr")
    (error,) = found.of("error")
    assert (error.name, error.count, found.pairs) == ("line-counts", 10, 290)
    assert "a.en has 300 lines but" in error.sentence


def test_every_line_that_is_not_utf8_is_counted(tmp_path: Path) -> None:
    lines = [f"{source}\t{target}\n".encode() for source, target in good(300)]
    for row in (4, 90, 200, 280):
        lines[row] = "café noir\tun café noir\n".encode("latin-1")
    (tmp_path / "a.tsv").write_bytes(b"".join(lines))
    found = verdict_of(tmp_path, tsv="a.tsv")
    (error,) = found.of("error")
    assert (error.name, error.line, error.count, error.of) == ("invalid-utf8", 5, 4, 300)
    assert "replacement-character" in names(found)


def test_lines_that_hold_no_pair_are_counted(tmp_path: Path) -> None:
    rows = [json.dumps({"en": source, "fr": target}) for source, target in good(300)]
    rows[5], rows[9], rows[10] = "{", '{"en": "x"}', '{"en": "x", "fr": 3}'
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (error,) = verdict_of(tmp_path, jsonl="a.jsonl").of("error")
    assert (error.name, error.line, error.count) == ("unreadable-object", 6, 3)
    (tmp_path / "a.tsv").write_text("one\n" * 20, encoding="utf-8")
    found = verdict_of(tmp_path, tsv="a.tsv")
    assert [(one.name, one.count) for one in found.of("error")] == [("missing-columns", 20)] and found.pairs == 0


def test_ends_of_lines_inside_a_text_of_json_are_found(tmp_path: Path) -> None:
    rows = [json.dumps({"en": source, "fr": target}) for source, target in good(300)]
    rows[7] = json.dumps({"en": "One line,\nand another one.", "fr": "Une ligne,\net une autre."})
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    found = [one for one in verdict_of(tmp_path, jsonl="a.jsonl").findings if one.name == "control-characters"]
    assert [(one.line, one.count) for one in found] == [(8, 1), (8, 1)]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="there is no file"):
        verdict_of(tmp_path, tsv="nowhere.tsv")
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(CorpusError, match="contains no sentence pairs"):
        verdict_of(tmp_path, tsv="empty.tsv")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes")
def test_pipes_are_refused_because_corpora_are_read_several_times(tmp_path: Path) -> None:
    for place, corpus in (("a.fr", {"source": "a.en", "target": "a.fr"}), ("a.tsv", {"tsv": "a.tsv"})):
        (tmp_path / "a.en").write_text("we like it .\n", encoding="utf-8")
        os.mkfifo(tmp_path / place)
        with pytest.raises(CorpusError, match=rf"{place} is a pipe or a device, .*write it to a file first"):
            verdict_of(tmp_path, **corpus)


def test_corpora_of_one_language_and_of_both_directions_are_examined(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "".join(f"{source}\n" for source, _ in good(300)) + "bad \x07 bell here\n", encoding="utf-8"
    )
    found = verdict_of(tmp_path, languages=("en", "en"), text="a.txt")
    assert names(found) == ["control-characters"]
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in good(300)), encoding="utf-8")
    assert verdict_of(tmp_path, tsv="a.tsv", both_ways=True).pairs == 300


def test_progress_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in good(5000)), encoding="utf-8")
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, "train": [{"tsv": "a.tsv"}]})
    heard: list[int] = []
    found = examine(data, progress=heard.append)
    assert heard == [4096, 5000] and found.seconds > 0


def test_a_verdict_is_json() -> None:
    table = json.loads(json.dumps(Verdict([], []).table()))
    assert (table["errors"], table["findings"], table["corpora"]) == (0, [], [])


def test_the_page_of_the_documentation_lists_every_finding() -> None:
    page = (Path(__file__).parents[2] / "docs" / "check.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `"): line for line in page.split("\n") if line.startswith("| `")}
    readers = {"line-counts", "invalid-utf8", "missing-columns", "unreadable-object", "languages-not-identified"}
    assert set(rows) == {check.name for check in CHECKS} | readers | set(VOCABULARY)
    for check in CHECKS:
        assert f"| {check.severity} |" in rows[check.name], check.name
        assert ("| yes |" in rows[check.name]) == check.removes, check.name


DATA = Path("../shared/data")
REAL = pytest.mark.skipif(not DATA.exists(), reason=f"there is no {DATA}: its known faults are not looked for")
TRAPS: list[tuple[str, tuple[str, str], dict[tuple[str, str], int]]] = [
    ("iwslt15-en-vi/train-first10k", ("en", "vi"), {("blank-side", "en"): 3, ("duplicate", "en"): 50}),
    ("iwslt15-en-vi/train-first10k", ("en", "vi"), {("entities", "en"): 3887, ("entities", "vi"): 836}),
    ("multi30k/train", ("en", "de"), {("subword-marks", "de"): 2, ("no-letters", "en"): 2, ("duplicate", "en"): 3}),
    ("multi30k/train", ("en", "de"), {("odd-spaces", "de"): 44, ("outer-spaces", "de"): 85, ("entities", "de"): 1}),
    ("evbnews-en-vi/train", ("en", "vi"), {("not-nfc", "vi"): 97, ("duplicate", "en"): 1210, ("copy", "en"): 123}),
    ("alt-en-vi/train", ("en", "vi"), {("zero-width", "vi"): 70}),
    ("alignments/hansards-en-fr/test", ("en", "fr"), {("duplicate", "en"): 6}),
]
"""Corpora, and how many lines have a fault that is known to be in them."""


@pytest.mark.slow
@REAL
@pytest.mark.parametrize(("stem", "languages", "expected"), TRAPS)
def test_known_faults_of_real_corpora_are_found(
    stem: str, languages: tuple[str, str], expected: dict[tuple[str, str], int]
) -> None:
    found = examine(parse(DataSettings, _real(languages, train=stem)))
    counts = {
        (one.name, language): one.count
        for one in found.findings
        for language in languages
        if language in one.file.split(".")
    }
    assert {fault: counts.get(fault) for fault in expected} == expected
    assert found.of("error") == []


@pytest.mark.slow
@REAL
@pytest.mark.parametrize(
    ("train", "dev", "languages", "count"),
    [("alt-en-vi/train", "alt-en-vi/dev", ("en", "vi"), 3), ("multi30k/train", "multi30k/val", ("en", "de"), 1)],
)
def test_known_sentences_of_dev_in_real_training_text_are_found(
    train: str, dev: str, languages: tuple[str, str], count: int
) -> None:
    found = examine(parse(DataSettings, _real(languages, train=train, dev=dev)))
    assert sum(one.count for one in found.findings if one.name == "leakage" and "en" in one.file.split(".")) == count


@pytest.mark.slow
@REAL
def test_tokenised_text_beside_raw_text_is_found() -> None:
    parts = {"train": "iwslt15-en-vi/train-first10k", "dev": "iwslt15-en-vi/tst2012.raw"}
    found = examine(parse(DataSettings, _real(("en", "vi"), **parts)))
    assert [one.name for one in found.findings].count("other-style") == 2  # a side each


def _real(languages: tuple[str, str], **parts: str) -> dict[str, Any]:
    """Return the settings of data that name real corpora."""

    def path(stem: str, language: str) -> str:
        plain = DATA / f"{stem}.{language}"
        return str((plain if plain.exists() else plain.with_name(f"{plain.name}.gz")).resolve())

    source, target = languages
    files = {part: [{"source": path(stem, source), "target": path(stem, target)}] for part, stem in parts.items()}
    return {"source": source, "target": target, **files}


def test_whole_documents_are_held_out_as_in_training(tmp_path: Path) -> None:
    pairs = [("Contents", "Sommaire") if number % 10 == 0 else pair for number, pair in enumerate(good(400))]
    for name, column in (("a.en", [one for one, _ in pairs]), ("a.fr", [one for _, one in pairs])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in column), encoding="utf-8")
    (tmp_path / "a.ids").write_text("".join(f"N{number // 10}\n" for number in range(400)), encoding="utf-8")
    files = {"source": "a.en", "target": "a.fr", "documents": "a.ids"}
    parts = {
        part: [{**files, "hold_out": {"modulo": 4, "keep": keep}}]
        for part, keep in (("train", "rest"), ("dev", "held"))
    }
    data = parse(DataSettings, {"source": "en", "target": "fr", "root": tmp_path, **parts})
    verdict = examine(data)
    trained = {corpus.part: corpus.pairs for corpus in verdict.corpora}
    assert trained == {part: len([*read_pairs(getattr(data, part)[0], data)]) for part in ("dev", "train")}
    assert {one.count for one in verdict.findings if one.name == "leakage"} == {trained["dev"] // 10}
