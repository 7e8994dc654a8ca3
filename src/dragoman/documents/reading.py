"""Open a document of any format, by the suffix of its name or the format given."""

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from dragoman.documents.books import BookDocument
from dragoman.documents.catalogs import CatalogDocument
from dragoman.documents.encoded import EncodedDocument
from dragoman.documents.exchange import MemoryDocument, XliffDocument
from dragoman.documents.hypertext import HypertextDocument, declared_charset
from dragoman.documents.markdown import MarkdownDocument
from dragoman.documents.messages import with_messages
from dragoman.documents.office import OfficeDocument
from dragoman.documents.plain import PlainDocument
from dragoman.documents.segments import Document, Segment
from dragoman.documents.subtitles import SubtitleDocument
from dragoman.documents.tables import TableDocument
from dragoman.errors import InputError

Office = Literal["docx", "pptx", "xlsx", "odt", "odp", "ods"]
"""Documents that are zip files of XML parts."""

Format = Literal["txt", "html", "md", "srt", "vtt", "po", "xliff", "tmx", "csv", "tsv", Office, "epub"]
"""The formats of documents."""

LARGEST = 256 << 20
"""Number of bytes beyond which a document is refused."""

SUFFIXES = {
    "text": "txt",
    "htm": "html",
    "xhtml": "html",
    "markdown": "md",
    "pot": "po",
    "xlf": "xliff",
    "sdlxliff": "xliff",
    "mqxliff": "xliff",
    "mxliff": "xliff",
    "txlf": "xliff",
    "tab": "tsv",
} | {f"{office}m": f"{office}x" for office in ("doc", "ppt", "xls")}
"""Other suffixes of formats: XLIFF as Trados, memoQ, Phrase and Wordfast name it; those in m are of office files with macros."""


@dataclass(frozen=True)
class Reading:
    """How a document is to be read."""

    format: Format | None = None
    """None goes by the suffix."""
    column: str | None = None
    """The column of a table."""
    languages: tuple[str | None, str | None] = (None, None)
    """The languages of source and translation, which some formats name."""
    unpacked: int | None = None
    """Number of bytes that a zip file may have in it; None for what `archives.LARGEST` says."""
    most_tags: int | None = None
    """Number of tags that the pages of a book may have; None for any."""


class _Compressed:
    """A document compressed by gzip."""

    def __init__(self, inside: Document) -> None:
        self._inside = inside
        self.segments = inside.segments

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the document with translated segments, compressed."""
        return gzip.compress(self._inside.written(translations), mtime=0)


def open_document(path: Path, reading: Reading | None = None) -> Document:
    """Read a document. InputError if it cannot be read, or its format is not known."""
    chosen = reading or Reading()
    kind = chosen.format or _format_of(path)
    document = read_document(content_of(path), kind, str(path), reading=chosen)
    return _Compressed(document) if _is_compressed(path) else document


def check_name(output: Path, path: Path, reading: Reading | None = None) -> None:
    """Raise InputError if the names of a document and its translation stand for different formats, unless `reading` has one."""
    chosen = reading is not None and reading.format is not None
    alike = chosen or _known_format(output) in (None, _format_of(path))
    if not alike or _is_compressed(output) != _is_compressed(path):
        raise InputError(
            f"a translation has the format of its document, but {output.name} does not end as {path.name} does; name it "
            f"so that it ends in {''.join(path.suffixes[-1 - _is_compressed(path) :])}"
        )


def content_of(path: Path) -> bytes:
    """Return the content of a file, unpacked if it is compressed. InputError if it cannot be read or is too long."""
    try:
        size = path.stat().st_size
        if not path.is_file() or size > LARGEST:
            raise InputError(f"{path} is no file of at most {LARGEST >> 20} MiB; give a document, or divide it")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a document that exists") from None
    return _unpacked(content, path) if _is_compressed(path) else content


def read_document(content: bytes, kind: Format, where: str, *, reading: Reading) -> Document:
    """Read the content of a document, which errors call `where`."""
    return with_messages(_read(content, kind, where, reading=reading))


def _read(content: bytes, kind: Format, where: str, *, reading: Reading) -> Document:
    """Read the content of a document, with its messages whole."""
    if reading.column is not None and kind not in ("csv", "tsv"):
        raise InputError(f"--column is for tables, but {where} is read as {kind}; remove it")
    match kind:
        case "docx" | "pptx" | "xlsx" | "odt" | "odp" | "ods":
            return OfficeDocument(content, kind, where, largest=reading.unpacked)
        case "epub":
            limits = {"largest": reading.unpacked, "most_tags": reading.most_tags}
            return BookDocument(content, where, reading.languages[1], **limits)
        case "xliff":
            return XliffDocument(content, where, reading.languages[1])
        case "tmx":
            return MemoryDocument(content, where, reading.languages)
        case "html":
            language = reading.languages[1]
            return EncodedDocument(
                content, where, lambda text: HypertextDocument(text, language), declared=declared_charset(content)
            )
        case "md":
            return EncodedDocument(content, where, MarkdownDocument)
        case "po":
            return EncodedDocument(content, where, CatalogDocument)
        case "srt" | "vtt":
            return EncodedDocument(content, where, lambda text: SubtitleDocument(text, is_vtt=kind == "vtt"))
        case "csv" | "tsv":
            delimiter = "\t" if kind == "tsv" else None
            return EncodedDocument(
                content, where, lambda text: TableDocument(text, reading.column, delimiter=delimiter, where=where)
            )
        case _:
            return EncodedDocument(content, where, PlainDocument)


def _format_of(path: Path) -> Format:
    """Return the format that a suffix stands for."""
    if (found := _known_format(path)) is None:
        raise InputError(
            f"{path} has no suffix of a known format; name one with --format: {', '.join(get_args(Format))}"
        )
    return found


def _known_format(path: Path) -> Format | None:
    """Return the format that a suffix stands for, if it does."""
    suffix = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    suffix = SUFFIXES.get(suffix, suffix)
    return next((known for known in get_args(Format) if suffix == known), None)


def _is_compressed(path: Path) -> bool:
    """Tell whether a name is that of a gzip file."""
    return path.name.lower().endswith(".gz")


def _unpacked(content: bytes, path: Path) -> bytes:
    """Return what a compressed file holds, if that is not too long."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        inside = unpacker.decompress(content, LARGEST + 1)
    except zlib.error:
        raise InputError(f"{path} is not a gzip file or is damaged; copy it again") from None
    if len(inside) > LARGEST or not unpacker.eof or unpacker.unused_data:
        raise InputError(
            f"{path} is incomplete, or is more than one file of at most {LARGEST >> 20} MiB; copy it again"
        )
    return inside
