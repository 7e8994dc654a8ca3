"""What commands are given is read line by line."""

import io
import sys
import time
from pathlib import Path

import pytest

from dragoman.cli import files
from dragoman.cli.files import check_languages, read_aligned, read_sentences, standard_input, write_lines
from dragoman.errors import InputError


class Broken(io.RawIOBase):
    """A stream that fails after its first line."""

    def __init__(self) -> None:
        self.parts = [b"one\n"]

    def read(self, size: int = -1) -> bytes:
        """Give the first line, then fail."""
        if self.parts:
            return self.parts.pop()
        raise OSError(5, "Input/output error")


class Terminal:
    """Stands in for `sys.stdin`."""

    def __init__(self, raw: io.RawIOBase | io.BufferedIOBase) -> None:
        self.buffer = raw

    def isatty(self) -> bool:
        """Deny being a terminal."""
        return False


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch):
    """Return a function that puts bytes on standard input."""

    def put(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(content)))

    return put


def lines(most: int = 10) -> list[str]:
    """Read standard input to its end."""
    return [line for chunk in standard_input(most) for line in chunk]


def test_standard_input_is_cut_at_line_feeds_alone(give):
    give("one\r\n\n two\x0b\u2028\x85\nthree".encode())
    assert lines() == ["one\r", "", " two\x0b\u2028\x85", "three"]


def test_a_line_may_be_longer_than_what_is_read_at_once(give):
    long = "x" * 200_000
    give(f"{long}\n{long}".encode())
    assert lines() == [long, long]


def test_a_line_longer_than_any_sentence_is_refused_after_those_before_it(give, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    give(b"one\n" + b"x" * (1 << 20) + b"\nlast\n")
    assert [len(line) for line in lines()] == [3, 1 << 20, 4]
    give(b"one\ntwo\n" + b"x" * ((1 << 20) + 1) + b"\nlast\n")
    read = []
    with pytest.raises(InputError, match="line 3 of standard input is longer than 1 MiB"):
        for chunk in standard_input(10):
            read += chunk
    assert read == ["one", "two"]


def test_a_line_in_many_parts_takes_linear_time(monkeypatch: pytest.MonkeyPatch):
    """Adding each part to those before would copy 8 GB here, which takes seconds."""
    line = io.BytesIO(b"x" * (1 << 24))
    monkeypatch.setattr(line, "read", lambda size, read=line.read: read(1 << 14), raising=False)
    monkeypatch.setattr(sys, "stdin", Terminal(line))
    begin = time.process_time()
    assert [len(line) for line in lines()] == [1 << 24]
    assert time.process_time() - begin < 1


def test_chunks_have_at_most_so_many_lines(give):
    give(b"a\n" * 7)
    sizes = [len(chunk) for chunk in standard_input(3)]
    assert sum(sizes) == 7
    assert 1 <= max(sizes) <= 3


def test_lines_before_one_that_is_not_utf8_are_given(give):
    give(b"one\ntwo\n\xff\nfour\n")
    read = []
    with pytest.raises(InputError, match="line 3 of standard input is not UTF-8; convert it first"):
        for chunk in standard_input(10):
            read += chunk
    assert read == ["one", "two"]


def test_closed_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed; give sentences"):
        lines()


def test_standard_input_that_fails_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", Terminal(Broken()))
    with pytest.raises(InputError, match=r"standard input cannot be read after line 1 \(Input/output error\)"):
        lines()


def test_a_dash_means_standard_input(give):
    give(b"one\ntwo\n")
    assert read_sentences(Path("-")) == ["one", "two"]


def test_aligned_files_are_read_together(tmp_path: Path):
    (tmp_path / "a").write_text("one\n\n", encoding="utf-8")
    (tmp_path / "b").write_text("un\r\n\r\n", encoding="utf-8")
    assert read_aligned(tmp_path / "a", tmp_path / "b") == [["one", ""], ["un", ""]]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_the_language_is_the_last_suffix_that_is_no_compression(suffix):
    check_languages(("en", "vi"), Path(f"a.en{suffix}"), Path(f"a.vi{suffix}"))
    with pytest.raises(InputError, match=r"looks like `en`.*; give one in `vi` in its place, or another run"):
        check_languages(("en", "vi"), None, Path(f"a.en{suffix}"))
    with pytest.raises(InputError, match=r"looks like `vi`.*; give a file in another language in its place"):
        check_languages((None, "vi"), Path(f"a.vi{suffix}"), None)


def test_other_suffixes_say_nothing():
    check_languages(("en", "vi"), Path("a.txt"), Path("a.fr"))
    check_languages(("en", "en"), Path("a.en"), Path("b.en"))


def test_files_in_another_language_of_the_run_are_refused():
    known = ("en", "fr", "de")
    check_languages(("en", "fr"), Path("a.en"), Path("a.fr"), known=known)
    check_languages(("en", "fr"), Path("a.en"), Path("a.vi"), known=known)
    check_languages((None, "fr"), Path("a.de"), Path("a.fr"), known=known)
    for languages, names, wrong in (
        (("en", "fr"), ("a.en", "a.de"), "a.de looks like `de`.*; give one in `fr` in its place"),
        (("en", "de"), ("a.fr", "a.de"), "a.fr looks like `fr`.*; give one in `en` in its place"),
        (("en", "fr"), ("a.fr", "a.de"), "a.fr looks like `fr`.*; give one in `en` in its place"),
        ((None, "fr"), ("a.de", "a.en"), "a.en looks like `en`.*; give one in `fr` in its place"),
    ):
        with pytest.raises(InputError, match=wrong):
            check_languages(languages, *map(Path, names), known=known)


def test_every_reference_is_in_the_target_language():
    with pytest.raises(InputError, match=r"b\.en looks like `en`.*; give one in `fr` in its place"):
        check_languages(("en", "fr"), Path("a.en"), Path("a.fr"), Path("b.en"))


def test_lines_are_written_whole(tmp_path: Path):
    write_lines(tmp_path / "out", ["one", "", "hai ế"])
    assert (tmp_path / "out").read_bytes() == "one\n\nhai ế\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        write_lines(tmp_path / "none" / "out", ["one"])


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path, give):
    (tmp_path / "a").write_text("\ufeffone\n\ufefftwo\n", encoding="utf-8")
    assert read_sentences(tmp_path / "a") == ["one", "\ufefftwo"]
    give("\ufeffone\ntwo\n".encode())
    assert [line for chunk in standard_input(9) for line in chunk] == ["one", "two"]


def test_files_are_swapped_only_where_both_are_wrong():
    with pytest.raises(InputError, match="swap the files"):
        check_languages(("en", "fr"), Path("a.fr"), Path("a.en"))
    for source, target in ((Path("a.fr"), None), (Path("a.fr"), Path("a.fr")), (Path("a.en"), Path("b.en"))):
        with pytest.raises(InputError, match="another run") as caught:
            check_languages(("en", "fr"), source, target)
        assert "swap" not in str(caught.value)
