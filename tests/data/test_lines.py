"""Lines of text files."""

import gzip
import lzma
import os
import time
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.data import lines as module
from dragoman.data.lines import read_lines
from dragoman.errors import CorpusError

Factory = pytest.TempPathFactory
TEXT = "one\ntwo\u2028still two\x0b\x0c\x85\n\nfour\r\nfi\rve"
LINES = ["one", "two\u2028still two\x0b\x0c\x85", "", "four", "fi\rve"]
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("chunk", [1, 2, 1 << 18])
def test_lines_end_at_line_feeds_alone(
    suffix: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_SIZE", chunk)
    monkeypatch.setattr(module, "ZSTD_READ_SIZE", chunk)
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](TEXT.encode()))
    assert list(read_lines(path)) == LINES
    path.write_bytes(COMPRESSIONS[suffix](TEXT.encode() + b"\n"))
    assert list(read_lines(path)) == LINES


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_parts_one_after_the_other_are_one_text(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](b"a\nb") + COMPRESSIONS[suffix](b"c\n"))
    assert list(read_lines(path)) == ["a", "bc"]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_the_end_of_a_name_may_be_in_capitals(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"TEXT.EN{suffix.upper()}"
    path.write_bytes(COMPRESSIONS[suffix](TEXT.encode()))
    assert list(read_lines(path)) == LINES


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_an_empty_file_has_no_lines(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](b""))
    assert list(read_lines(path)) == []


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_a_damaged_file_is_refused(suffix: str, damage: str, tmp_path: Path) -> None:
    whole = COMPRESSIONS[suffix](os.urandom(5000).hex().encode())
    middle = len(whole) // 2
    flipped = bytes(255 - byte for byte in whole[middle : middle + 64])
    content = {"cut": whole[:middle], "changed": whole[:middle] + flipped + whole[middle + 64 :], "other": b"plain\n"}
    path = tmp_path / f"text{suffix}"
    path.write_bytes(content[damage])
    with pytest.raises(CorpusError, match=rf"text{suffix} is damaged or truncated and cannot be decompressed"):
        list(read_lines(path))


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("één\nau caf".encode() + "é".encode("latin-1") + b"!\n")
    with pytest.raises(
        CorpusError, match=r"text, line 2 is not UTF-8 text \(at its byte 7\); convert the file to UTF-8"
    ):
        list(read_lines(path))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_file_in_utf16_is_recognised(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "text").write_bytes("\ufeffone\ntwo\n".encode(encoding))
    with pytest.raises(CorpusError, match=r"text, line 1 .*the file is UTF-16; convert it.*iconv -f UTF-16 -t UTF-8"):
        list(read_lines(tmp_path / "text"))


@pytest.mark.parametrize("ending", [ending for ending in COMPRESSIONS if ending])
def test_a_compressed_file_whose_name_does_not_say_so_is_recognised(tmp_path: Path, ending: str) -> None:
    (tmp_path / "text").write_bytes(COMPRESSIONS[ending](TEXT.encode()))
    with pytest.raises(CorpusError, match=rf"text, line 1 .*compressed; rename it so that it ends in {ending},"):
        list(read_lines(tmp_path / "text"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"there is no file .*nowhere; check its path, and `data\.root`"):
        next(read_lines(tmp_path / "nowhere"))
    (tmp_path / "nowhere.xz").touch()
    with pytest.raises(CorpusError, match=r"nowhere\.xz is there: name that in `data`, or unpack it"):
        next(read_lines(tmp_path / "nowhere"))


@pytest.mark.parametrize("name", ["folder", "folder.gz", "folder.xz", "folder.zst"])
def test_a_directory_is_not_a_corpus(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(CorpusError, match=rf"{name} is a directory; give the path of a file"):
        next(read_lines(tmp_path / name))


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CorpusError, match="secret is not readable; check its permissions"):
        next(read_lines(tmp_path / "secret"))


def test_a_disk_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, mode: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(CorpusError, match=r"text cannot be read \(Input/output error\)"):
        next(read_lines(tmp_path / "text"))


def test_a_file_without_line_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 1000)
    monkeypatch.setattr(module, "READ_SIZE", 100)
    path = tmp_path / "text"
    path.write_bytes(bytes(2000))
    with pytest.raises(
        CorpusError, match=r"text has a line of more than 0 MiB; a corpus is text with one sentence per line"
    ):
        list(read_lines(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=5), max_size=9
    ),
    size=st.integers(1, 9),
    suffix=st.sampled_from(sorted(COMPRESSIONS)),
)
def test_any_lines_are_read_whatever_is_read_at_a_time(
    lines: list[str], size: int, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_SIZE", size)
    monkeypatch.setattr(module, "ZSTD_READ_SIZE", size)
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESSIONS[suffix]("".join(f"{line}\n" for line in lines).encode()))
    assert list(read_lines(path)) == lines


def test_a_small_file_that_becomes_large_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "text.zst"
    compressor = zstandard.ZstdCompressor().compressobj()
    path.write_bytes(b"".join(compressor.compress(bytes(1 << 24)) for _ in range(16)) + compressor.flush())
    assert path.stat().st_size < 1 << 15
    tracemalloc.start()
    with pytest.raises(CorpusError, match=r"text\.zst has a line of more than 16 MiB"):
        list(read_lines(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 27


@given(content=st.binary(max_size=200), suffix=st.sampled_from(sorted(COMPRESSIONS)), at=st.integers(0, 99))
def test_any_bytes_are_read_or_refused(content: bytes, suffix: str, at: int, tmp_path_factory: Factory) -> None:
    whole = COMPRESSIONS[suffix](b"a line\nand another\n" * 9)
    place = at % len(whole)
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    for damaged in (content, whole + content, whole[:place] + content + whole[place:], whole[:place] + content):
        path.write_bytes(damaged)
        with suppress(CorpusError):
            assert all(isinstance(line, str) and "\n" not in line for line in read_lines(path))


def test_a_long_line_in_small_pieces_is_refused_soon(tmp_path: Path) -> None:
    """Once each piece was added to a copy of all before it: this took a minute and a half."""
    path = tmp_path / "text.zst"
    path.write_bytes(zstandard.ZstdCompressor(level=1).compress(os.urandom(17 << 20).replace(b"\n", b" ")))
    start = time.process_time()
    with pytest.raises(CorpusError, match=r"text\.zst has a line of more than 16 MiB"):
        list(read_lines(path))
    assert time.process_time() - start < 20


def test_a_file_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    advice = r"needs more than 256 MiB of memory to be decompressed; compress it again, without options"
    content = bytearray(lzma.compress(b"a\nb\n"))
    length = (content[12] + 1) * 4
    content[content.index(b"\x21\x01") + 2] = 40  # the code of a dictionary of 4 GiB
    content[12 + length - 4 : 12 + length] = zlib.crc32(content[12 : 12 + length - 4]).to_bytes(4, "little")
    (tmp_path / "text.xz").write_bytes(content)
    (tmp_path / "text.zst").write_bytes(bytes.fromhex("28b52ffd 00 90 110000") + b"a\n")  # a window of 256 MiB
    for suffix in ("xz", "zst"):
        with pytest.raises(CorpusError, match=rf"text\.{suffix} {advice}"):
            list(read_lines(tmp_path / f"text.{suffix}"))


def test_zeros_between_the_parts_of_an_xz_file_are_no_text_and_anything_else_is_damage(tmp_path: Path) -> None:
    path, parts = tmp_path / "text.xz", (lzma.compress(b"a\n"), lzma.compress(b"b\n"))
    path.write_bytes(bytes(8).join(parts) + bytes(4))
    assert list(read_lines(path)) == ["a", "b"]
    path.write_bytes(parts[0] + b"rubbish" + parts[1])
    with pytest.raises(CorpusError, match=r"text\.xz is damaged or truncated"):
        list(read_lines(path))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"a line of a text that is long\n" * 400_000)
    tracemalloc.start()
    assert sum(1 for _ in read_lines(path)) == 400_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size / 4
