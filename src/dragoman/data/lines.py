"""Lines of text files, compressed or not, in constant memory."""

import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path

from dragoman.data.findings import Example, Finding, Report, refuse
from dragoman.errors import CorpusError

READ_SIZE = 1 << 18
"""Bytes read at a time."""

ZSTD_READ_SIZE = 1 << 10
"""Bytes of Zstandard data decompressed at a time: a block of 4 bytes may stand for 128 KiB, so this may become 32 MiB."""

LONGEST_EXAMPLE = 500
"""Maximum characters of an example of a line that cannot be read."""
NOT_UTF8 = "convert the file to UTF-8"
"""What to do about a line that is not."""

LONGEST_LINE = 1 << 24
"""Maximum bytes of a line; a longer one means that the file does not contain sentences."""


def read_lines(path: Path, report: Report = refuse) -> Iterator[str]:
    """Read the lines of a file, plain or .gz, .xz or .zst; a "\\r" at the end of a line is left out.

    Lines end at "\\n" alone. Raises CorpusError if the file is missing, unreadable or damaged. A line that is not UTF-8 is
    reported, which raises CorpusError unless `report` does something else; then its bad bytes become U+FFFD.
    """
    for number, line in enumerate(_read_bytes(path), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            text = line.decode("utf-8", "replace")
            what = f"is not UTF-8 text (at its byte {error.start + 1})"
            example = Example(number, (text[:LONGEST_EXAMPLE],))
            report(Finding("invalid-utf8", "error", what, NOT_UTF8, str(path), number, examples=(example,)))
        yield text.removesuffix("\r")


def _read_bytes(path: Path) -> Iterator[bytes]:
    """Read lines, turning what may go wrong into sentences."""
    try:
        with _open(path) as stream:
            chunks = _decompress(stream) if path.suffix == ".zst" else iter(lambda: stream.read(READ_SIZE), b"")
            yield from _split(chunks, path)
    except FileNotFoundError:
        raise CorpusError(f"there is no file {path}; check `data.root` and the path of the corpus") from None
    except IsADirectoryError:
        raise CorpusError(f"{path} is a directory; give the path of a file") from None
    except PermissionError:
        raise CorpusError(f"{path} is not readable; check its permissions") from None
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error):
        raise CorpusError(
            f"{path} is damaged or truncated and cannot be decompressed; fetch or make it again"
        ) from None
    except OSError as error:
        raise CorpusError(f"{path} cannot be read ({error.strerror or error})") from None


def _open(path: Path) -> BufferedIOBase:
    """Open a file; gzip and xz are decompressed on the way."""
    match path.suffix:
        case ".gz":
            return gzip.open(path, "rb")
        case ".xz":
            return lzma.open(path, "rb")
        case _:
            return path.open("rb")


def _decompress(stream: BufferedIOBase) -> Iterator[bytes]:
    """Decompress Zstandard frames; EOFError if the last one is cut short."""
    import zstandard

    decoder, fresh = zstandard.ZstdDecompressor().decompressobj(), True
    try:
        while chunk := stream.read(ZSTD_READ_SIZE):
            while chunk:
                fresh = False
                yield decoder.decompress(chunk)
                chunk = b""
                if decoder.eof:
                    chunk = decoder.unused_data
                    decoder, fresh = zstandard.ZstdDecompressor().decompressobj(), True
    except zstandard.ZstdError:
        raise EOFError from None
    if not fresh:
        raise EOFError


def _split(chunks: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """Cut chunks into lines."""
    rest = b""
    for chunk in chunks:
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        yield from lines
        if len(rest) > LONGEST_LINE:
            raise CorpusError(
                f"{path} has a line of more than {LONGEST_LINE >> 20} MiB; a corpus is text with one sentence per line"
            )
    if rest:
        yield rest
