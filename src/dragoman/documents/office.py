"""Word, PowerPoint and OpenDocument files: the parts that hold text are translated, all others are copied."""

import io
import re
import zipfile
import zlib
from collections.abc import Sequence

from dragoman.documents.elements import Paragraph, paragraph, replace_all
from dragoman.documents.markup import Element, decode_xml, encode_xml, tree
from dragoman.documents.runs_of_text import RunParagraph, run_paragraph
from dragoman.documents.segments import Segment
from dragoman.errors import InputError

LARGEST = 512 << 20
"""Number of bytes in all parts beyond which a file is refused, unless it is said otherwise."""

TEXT = 4
"""One part in so many of it may be text, whose elements take about sixty times as much memory."""

MOST_PARTS = 20_000
"""Number of parts beyond which a file is refused."""

_DRAWN = r"charts/chart\d+|diagrams/(?:data|drawing)\d+"
"""Charts, and SmartArt: its text and the picture that was drawn of it."""
_PARTS = {
    "docx": rf"word/(?:document\d*|header\d*|footer\d*|footnotes|endnotes|comments|{_DRAWN})\.xml",
    "pptx": rf"ppt/(?:slides/[^/]+|notesSlides/[^/]+|{_DRAWN})\.xml",
    "odt": r"(?:content|styles)\.xml",
    "odp": r"(?:content|styles)\.xml",
}
_SPACE = re.compile(r"""\sxmlns:?([\w.-]*)\s*=\s*["']([^"']*)["']""")
_USUAL = {"w": "wordprocessingml/2006/main", "a": "drawingml/2006/main", "text": ":xmlns:text:1.0"}
"""Prefixes of paragraphs, by the ends of what they stand for."""
_PAIRS = frozenset(["text:span", "text:a", "text:meta", "text:ruby", "text:ruby-base"])
_LINE_BREAKS = frozenset(["text:line-break", "text:tab"])


class OfficeDocument:
    """A document that is a zip file of XML parts."""

    def __init__(self, content: bytes, kind: str, where: str, *, largest: int | None = None) -> None:
        names = re.compile(_PARTS[kind])
        self._entries = _entries(content, where, names, largest=LARGEST if largest is None else largest)
        self._read = _odf_paragraphs if kind in ("odt", "odp") else _run_paragraphs
        self._parts: list[tuple[int, Element, str, Sequence[Paragraph | RunParagraph]]] = []
        for number, (info, inside) in enumerate(self._entries):
            if names.fullmatch(info.filename):
                text, encoding = decode_xml(inside, f"{where}: {info.filename}")
                root = tree(text)
                _require_usual_prefixes(root, where)
                self._parts.append((number, root, encoding, self._read(root)))
        if not self._parts:
            raise InputError(
                f"{where} has no text of a .{kind} file in it; name it by its format, or say it with --format"
            )
        self.segments: Sequence[Segment] = [
            one.inline.segment for _, _, _, paragraphs in self._parts for one in paragraphs
        ]

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the file with translated segments; parts without any are those of the original, byte for byte."""
        contents = [inside for _, inside in self._entries]
        rest = list(translations)
        for number, root, encoding, paragraphs in self._parts:
            own, rest = rest[: len(paragraphs)], rest[len(paragraphs) :]
            if replace_all(paragraphs, own):
                contents[number] = encode_xml(root.raw(), encoding)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for (info, _), inside in zip(self._entries, contents, strict=True):
                copied = zipfile.ZipInfo(info.filename, info.date_time)
                copied.compress_type, copied.external_attr = info.compress_type, info.external_attr
                archive.writestr(copied, inside)
        return out.getvalue()


def _require_usual_prefixes(root: Element, where: str) -> None:
    """Raise InputError for a part whose paragraphs have other names than those that office programs write."""
    opening = next(one.opening for one in root.children if isinstance(one, Element))
    declared = dict(_SPACE.findall(opening))
    for usual, end in _USUAL.items():
        others = [prefix for prefix, space in declared.items() if space.endswith(end)]
        if others and usual not in others:
            found = f"{others[0]}:p".removeprefix(":")
            raise InputError(
                f"{where} calls its paragraphs `{found}`, and not `{usual}:p` as usual; save it again with an office program"
            )


def _run_paragraphs(root: Element) -> list[RunParagraph]:
    """Return the paragraphs of a part of a Word or PowerPoint file that have text."""
    found = [run_paragraph(one) for one in root.elements() if re.fullmatch(r"(?:w|a):p", one.name) and one.closing]
    return [one for one in found if one.inline.segment.text.strip()]


def _odf_paragraphs(root: Element) -> list[Paragraph]:
    """Return the paragraphs of a part of an OpenDocument file that have text, but not those that were deleted from it."""
    own = (one for one in root.elements(but="text:tracked-changes") if one.name in ("text:p", "text:h"))
    found = [paragraph(one, _PAIRS, _LINE_BREAKS) for one in own if one.closing]
    return [one for one in found if one.inline.segment.text.strip()]


def _entries(
    content: bytes, where: str, texts: re.Pattern[str], *, largest: int
) -> list[tuple[zipfile.ZipInfo, bytes]]:
    """Return the parts of a zip file. InputError if it is none, or has more in it than a document has."""
    spoilt = f"{where} is not a readable zip file, as such documents are; save it again with the program it is from"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            size = sum(info.file_size for info in infos)
            text = sum(info.file_size for info in infos if texts.fullmatch(info.filename))
            if len(infos) > MOST_PARTS or size > largest or text > largest // TEXT:
                raise InputError(
                    f"{where} has more than {largest >> 20} MiB, {largest // TEXT >> 20} MiB of text, or {MOST_PARTS:,} parts "
                    "in it; divide it"
                )
            if len(set(names)) < len(names) or any(info.flag_bits & 1 for info in infos):
                raise InputError(f"{where} is encrypted or has two parts of one name; save it again without a password")
            return [(info, _inside(archive, info, spoilt)) for info in infos]
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError):
        raise InputError(spoilt) from None


def _inside(archive: zipfile.ZipFile, info: zipfile.ZipInfo, spoilt: str) -> bytes:
    """Return a part, which must not be longer than it says."""
    with archive.open(info) as stream:
        inside = stream.read(info.file_size + 1)
    if len(inside) != info.file_size:
        raise InputError(spoilt)
    return inside
