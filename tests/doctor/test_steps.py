"""Files that are out of step are reported with the lines of the files."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.doctor.parallel import Parallel, parallel

from dragoman.data.corpus import Pair
from dragoman.data.findings import Finding
from dragoman.data.settings import DataSettings
from dragoman.doctor.check import Patient
from dragoman.doctor.chunk import Chunk
from dragoman.doctor.examine import examine
from dragoman.doctor.steps import Shifted, listed
from dragoman.settings import parse
from dragoman.text.frames import Between


@pytest.fixture(scope="module")
def text() -> Parallel:
    return parallel(1500)


def found(folder: Path, text: Parallel, **corpus: object) -> list[Finding]:
    """Return what is found out of step in a corpus of two files."""
    for side, lines in (("en", text.sources), ("vi", text.targets)):
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    table = {
        "source": "en",
        "target": "vi",
        "root": str(folder),
        "train": [{"source": "train.en", "target": "train.vi", **corpus}],
    }
    verdict = examine(parse(DataSettings, table))
    return [one for one in verdict.findings if one.name == Shifted.name]


def test_a_clean_corpus_keeps_step(text: Parallel, tmp_path: Path) -> None:
    assert found(tmp_path, text) == []


def test_a_lost_line_is_an_error_with_place_and_offset(text: Parallel, tmp_path: Path) -> None:
    [finding] = found(tmp_path, text.without(targets=[600]))
    assert finding.severity == "error" and finding.file.endswith("train.en")
    assert finding.line is not None and abs(finding.line - 602) <= 3
    assert "are off by -1 (they belong to" in finding.what and "train.vi" in finding.what
    assert abs(finding.count - 899) <= 3
    assert "1,499" in finding.sentence


@pytest.mark.parametrize("count", [250, 1500])
def test_files_that_do_not_belong_together_are_told(count: int, text: Parallel, tmp_path: Path) -> None:
    others = random.Random(count).sample(text.targets[:count], count)
    [finding] = found(tmp_path, replace(text, sources=text.sources[:count], targets=others))
    assert finding.severity == "warning" and finding.line is None
    assert "train.vi no better than lines taken at random" in finding.sentence and "same order" in finding.advice


def test_few_lines_and_entries_of_a_dictionary_do_not_tell_whether_files_belong_together(
    text: Parallel, tmp_path: Path
) -> None:
    assert found(tmp_path, replace(text, sources=text.sources[:150], targets=text.targets[150:0:-1])) == []
    letters, chance = "abcdefghijklmnopqrstuvwxyz", random.Random(1)
    words = [["".join(chance.choices(letters, k=chance.randint(3, 12))) for _ in range(500)] for _ in range(2)]
    assert found(tmp_path, Parallel(*words)) == []


def test_losses_that_make_up_for_one_another_are_found(text: Parallel, tmp_path: Path) -> None:
    [finding] = found(tmp_path, text.without(sources=[400], targets=[1100]))
    assert abs(finding.count - 700) <= 6 and "off by +1" in finding.what


def test_lines_are_those_of_the_file_although_some_are_left_out() -> None:
    lines = [*range(1, 40), *range(51, 90), *range(101, 103)]
    pairs = [Pair("a", "b", f"train.en, line {line}") for line in lines]
    check = Shifted(Patient("train", "train.en", ("train.en", "train.vi"), Between("en", "vi")))
    for begin in range(0, len(pairs), 16):
        check.see(Chunk(pairs[begin : begin + 16], begin))
    assert [check._line(number) for number in range(1, len(lines) + 1)] == lines


def test_only_the_first_blocks_are_named() -> None:
    assert listed([str(number) for number in range(9)]) == "0; 1; 2; 3; 4; and 4 more"
