"""`dragoman bulk`."""

from pathlib import Path

import pytest
from tests.tiny import Trained, dragoman, refusal


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A text of three lines."""
    path = tmp_path / "text.en"
    path.write_text("I love cats.\n\nThe cat sleeps.\n", encoding="utf-8")
    return path


def test_the_file_is_what_translate_prints(trained: Trained, source: Path, tmp_path: Path) -> None:
    run, out = trained("rnn"), tmp_path / "text.vi"
    found = dragoman("bulk", run, "--source", source, "--out", out, "--beam", "2")
    assert (found.code, found.lines) == (0, [str(out)]), found.errors
    assert found.errors.endswith("3 lines translated.\n")
    assert (
        out.read_text(encoding="utf-8") == dragoman("translate", run, "--beam", "2", stdin=source.read_bytes()).output
    )


def test_a_file_that_is_there_is_not_written_over(trained: Trained, source: Path, tmp_path: Path) -> None:
    (tmp_path / "text.vi").write_text("mine")
    sentence = refusal("bulk", trained("rnn"), "--source", source, "--out", tmp_path / "text.vi")
    assert sentence.startswith(f"{tmp_path / 'text.vi'} already exists; choose another file with --out")


def test_text_in_the_other_language_is_refused(trained: Trained, source: Path, tmp_path: Path) -> None:
    other = source.rename(tmp_path / "text.vi")
    assert "text.vi looks like `vi`" in refusal(
        "bulk", trained("rnn"), "--source", other, "--out", tmp_path / "out.txt"
    )


def test_a_byte_order_mark_is_not_translated(trained: Trained, source: Path, tmp_path: Path) -> None:
    run, marked = trained("rnn"), tmp_path / "marked.en"
    marked.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    for path in (source, marked):
        dragoman("bulk", run, "--source", path, "--out", path.with_suffix(".vi"), "--beam", "2")
    assert (tmp_path / "marked.vi").read_bytes() == (tmp_path / "text.vi").read_bytes()
    assert "is a directory" in refusal("bulk", run, "--source", tmp_path, "--out", tmp_path / "out.vi")


def test_several_translations_of_a_line_are_refused(trained: Trained, source: Path, tmp_path: Path) -> None:
    sentence = refusal("bulk", trained("rnn"), "--source", source, "--out", tmp_path / "text.vi", "--set", "n_best=2")
    assert "`decoding.n_best`" in sentence and "`dragoman bulk`" in sentence
