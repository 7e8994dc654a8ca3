"""Lines of text files, compressed or not, and files as they are, in constant memory."""

import gzip
import lzma
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path

from dragoman.data.findings import Example, Finding, Report, refuse
from dragoman.errors import CorpusError

READ_SIZE = 1 << 18
"""Bytes read at a time."""

ZSTD_READ_SIZE = 1 << 10
"""Bytes of Zstandard data decompressed at a time: a block of 4 bytes may stand for 128 KiB, so this may become 32 MiB."""

MOST_MEMORY = 1 << 28
"""Bytes that decompressing a file may take: `xz -9` asks for 65 MiB, `zstd --ultra -22` for 128 MiB."""

COMPRESSED = (".gz", ".xz", ".zst")
"""Ends of the names of compressed files that are read, in small letters or capitals."""

LONGEST_EXAMPLE = 500
"""Maximum characters of an example of a line that cannot be read."""
NOT_UTF8 = "convert the file to UTF-8"
"""What to do about a line that is not."""
_COMPRESSED = "the file is compressed; rename it so that it ends in {ending}, or unpack it"
_UTF16 = "the file is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8"
"""What to do about a file that begins as UTF-16 does, as spreadsheets save text."""
_SIGNATURES = {
    BOM_UTF16_LE: _UTF16,
    BOM_UTF16_BE: _UTF16,
    b"\x1f\x8b": _COMPRESSED.format(ending=".gz"),
    b"\xfd7zXZ": _COMPRESSED.format(ending=".xz"),
    b"\x28\xb5\x2f\xfd": _COMPRESSED.format(ending=".zst"),
    b"PK\x03\x04": "the file is a .zip archive or a document of an office program; unpack it, or save it as plain text",
}
"""What to do about a file that is not UTF-8, by the bytes with which it begins."""

LONGEST_LINE = 1 << 24
"""Maximum bytes of a line; a longer one means that the file does not contain sentences."""


def read_lines(path: Path, report: Report = refuse) -> Iterator[str]:
    """Read the lines of a file, plain or .gz, .xz or .zst; a "\\r" at the end of a line is left out.

    Lines end at "\\n" alone. Raises CorpusError if the file is missing, unreadable or damaged. A line that is not UTF-8 is
    reported, which raises CorpusError unless `report` does something else; then its bad bytes become U+FFFD.
    """
    for number, line in enumerate(_split(read_chunks(path), path), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            text = line.decode("utf-8", "replace")
            what = f"is not UTF-8 text (at its byte {error.start + 1})"
            example = Example(number, (text[:LONGEST_EXAMPLE],))
            begun = (advice for sign, advice in _SIGNATURES.items() if number == 1 and line.startswith(sign))
            advice = next(begun, NOT_UTF8)
            report(Finding("invalid-utf8", "error", what, advice, str(path), number, examples=(example,)))
        yield text.removesuffix("\r")


def read_rows(path: Path, report: Report = refuse) -> Iterator[tuple[int, str]]:
    """Read the lines of a table as `read_lines` does, numbered from 1; empty ones that end a file are no rows of it."""
    rows = 0
    for number, line in enumerate(read_lines(path, report), 1):
        if line:
            yield from ((empty, "") for empty in range(rows + 1, number))
            yield number, line
            rows = number


def read_chunks(path: Path) -> Iterator[bytes]:
    """Read a file, plain or .gz, .xz or .zst, in pieces.

    Raises CorpusError if it is missing, unreadable or damaged.
    """
    try:
        with _open(path) as stream:
            yield from _chunks(stream, path.suffix.lower())
    except FileNotFoundError:
        raise no_file(path) from None
    except IsADirectoryError:
        raise CorpusError(f"{path} is a directory; give the path of a file") from None
    except PermissionError:
        raise CorpusError(f"{path} is not readable; check its permissions") from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        if "limit exceeded" in str(error) or "too much memory" in str(error):
            raise CorpusError(
                f"{path} needs more than {MOST_MEMORY >> 20} MiB of memory to be decompressed; compress it again, without "
                "options for a larger dictionary or window"
            ) from None
        raise CorpusError(
            f"{path} is damaged or truncated and cannot be decompressed; fetch or make it again"
        ) from None
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror or error})") from None


def not_a_file(path: Path) -> CorpusError:
    """Return the error for a pipe or a device where a file is read more than once."""
    return CorpusError(f"{path} is a pipe or a device, but corpora are read several times; write it to a file first")


def no_file(path: Path) -> CorpusError:
    """Return the error for a file that does not exist, with the name of a compressed one that does."""
    packed = next((one for one in COMPRESSED if path.with_name(path.name + one).exists()), None)
    advice = "check its path, and `data.root` if a recipe names it"
    if packed is not None:
        advice = f"{path.name}{packed} is there: name that in `data`, or unpack it"
    elif path.name.startswith("dev."):
        advice += "; if you have no dev text, `dragoman split` divides what you have"
    return CorpusError(f"there is no file {path}; {advice}")


def _open(path: Path) -> BufferedIOBase:
    """Open a file; gzip is decompressed on the way."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _chunks(stream: BufferedIOBase, suffix: str) -> Iterator[bytes]:
    """Read the text of a file in pieces of at most READ_SIZE bytes."""
    match suffix:
        case ".xz":
            return _decompress_xz(stream)
        case ".zst":
            return _decompress_zst(stream)
        case _:
            return iter(lambda: stream.read(READ_SIZE), b"")


def _decompress_xz(stream: BufferedIOBase) -> Iterator[bytes]:
    """Decompress the streams of an .xz file, between which may be zeros; EOFError if the last one is cut short.

    Python's own reader has no limit of memory, of which a file may ask for 4 GiB, and takes what is no stream for the end.
    """
    decoder: lzma.LZMADecompressor | None = None
    while chunk := stream.read(READ_SIZE):
        while chunk := chunk if decoder is not None else chunk.lstrip(b"\0"):
            decoder = decoder or lzma.LZMADecompressor(memlimit=MOST_MEMORY)
            yield decoder.decompress(chunk, READ_SIZE)
            while not decoder.eof and not decoder.needs_input:
                yield decoder.decompress(b"", READ_SIZE)
            chunk, decoder = (decoder.unused_data, None) if decoder.eof else (b"", decoder)
    if decoder is not None:
        raise EOFError


def _decompress_zst(stream: BufferedIOBase) -> Iterator[bytes]:
    """Decompress Zstandard frames; EOFError if the last one is cut short."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=MOST_MEMORY >> 1)
    decoder, fresh = unpacker.decompressobj(), True
    try:
        while chunk := stream.read(ZSTD_READ_SIZE):
            while chunk:
                fresh = False
                text = decoder.decompress(chunk)
                yield from (text[start : start + READ_SIZE] for start in range(0, len(text), READ_SIZE))
                chunk = b""
                if decoder.eof:
                    chunk = decoder.unused_data
                    decoder, fresh = unpacker.decompressobj(), True
    except zstandard.ZstdError as error:
        raise lzma.LZMAError(str(error)) from None
    if not fresh:
        raise EOFError


def _split(chunks: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """Cut chunks into lines."""
    begun, size = list[bytes](), 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > LONGEST_LINE:
            raise CorpusError(
                f"{path} has a line of more than {LONGEST_LINE >> 20} MiB; a corpus is text with one sentence per line"
            )
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun, size = [others[-1]], len(others[-1])
    if size:
        yield b"".join(begun)


def without_mark(line: str, number: int) -> str:
    """Return the line of a number without the byte order mark with which some programs begin a text.

    >>> without_mark("\\ufeffI love cats.", 1)
    'I love cats.'
    """
    return line.removeprefix("\ufeff") if number == 1 else line
