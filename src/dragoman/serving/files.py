"""Files that are uploaded, translated and fetched: what there is to translate in them, and where they wait."""

import asyncio
import re
import secrets
import time
import unicodedata
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Protocol, get_args
from urllib.parse import quote

from dragoman.documents.alignment import Alignment, Range, join, unchanged, words_of
from dragoman.documents.placeholders import is_translatable
from dragoman.documents.reading import SUFFIXES, Format, Reading, read_document
from dragoman.documents.segments import Document, Segment
from dragoman.documents.sentences import gaps, sentences
from dragoman.documents.transfer import is_written, transfer
from dragoman.errors import InputError, shorten
from dragoman.serving.interface import Answer, Call, OverloadedError, Service, ShuttingDownError, TooSlowError
from dragoman.serving.markup import alignment_of
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.translating import translate, translate_aligned

BARRED = str.maketrans("đĐøØłŁ", "dDoOlL")
"""Letters with a stroke, which Unicode does not take apart."""

KEEP_SECONDS = 30 * 60.0
"""How long a file waits to be fetched."""

PORTION = 50
"""Maximum number of sentences of a document that are translated at once, in the time of one request."""

ATTEMPTS = 50
"""How often a portion is tried while the service is busy."""

UNPACKED = 48 << 20
"""Number of bytes that an upload may have in it beyond twice its own size: a zip file of one megabyte can hold a gigabyte."""

MOST_MARKS = 600_000
"""Number of marks beyond which an upload is refused: each takes about a kilobyte of memory while the document is translated."""

MARKS: Mapping[Format, bytes] = {"html": b"<", "xliff": b"<", "md": b"<*_`[\n"}
"""Characters that begin tags and the like, by format."""

KEEP_BYTES = 256 << 20
"""Maximum size of all files that wait together."""


@dataclass(frozen=True)
class Upload:
    """A document that was uploaded, as sentences to translate."""

    document: Document
    places: Sequence[Sequence[Range]]
    """Where the sentences of each segment are."""
    texts: Sequence[str]
    """Its sentences that have something to translate, each on one line."""

    @classmethod
    def of(cls, document: Document) -> "Upload":
        """Cut the segments of a document into sentences."""
        places = [sentences(segment.text, segment.breaks) for segment in document.segments]
        whole = [
            segment.text[start:end]
            for segment, some in zip(document.segments, places, strict=True)
            for start, end in some
        ]
        return cls(document, places, [" ".join(one.split()) for one in whole if is_translatable(one)])

    @property
    def aligns(self) -> bool:
        """Tell whether `written` needs to know which words belong together: where there are tags."""
        return any(segment.spans or segment.cuts for segment in self.document.segments)

    def written(self, answers: Sequence[Answer]) -> bytes:
        """Return the content of the document with the translations of its texts."""
        left = iter(answers)
        translations: list[Segment | None] = []
        for segment, some in zip(self.document.segments, self.places, strict=True):
            parts = [segment.text[start:end] for start, end in some]
            if any(map(is_translatable, parts)):
                aligned = [_aligned(one, next(left)) if is_translatable(one) else unchanged(one) for one in parts]
                found = transfer(segment, join(aligned, gaps(segment.text, some)))
                translations.append(None if found is None or not is_written(segment, found) else found.segment)
            else:
                translations.append(segment if segment.beside else None)
        return self.document.written(translations)


class Reader(Protocol):
    """Reads files of a format."""

    def __call__(self, content: bytes, name: str, target: str = "") -> Upload:
        """Read the content of a file, of which the name is given too, and the language to translate into, which XLIFF names.

        InputError if the file is not what its name says.
        """
        ...


def reader_of(kind: Format) -> Reader:
    """Return what reads files of a format."""

    def read(content: bytes, name: str, target: str = "") -> Upload:
        if sum(content.count(mark) for mark in MARKS.get(kind, b"")) > MOST_MARKS:
            raise InputError(f"{shorten(name)} has more than {MOST_MARKS:,} tags or other marks in it; divide it")
        limit = UNPACKED + 2 * len(content)
        reading = Reading(languages=(None, target or None), unpacked=limit, most_tags=MOST_MARKS)
        return Upload.of(read_document(content, kind, shorten(name), reading=reading))

    return read


READERS: Mapping[str, Reader] = {
    f".{suffix}": reader_of(kind)
    for kind in get_args(Format)
    if kind not in ("csv", "tsv", "tmx")
    for suffix in (kind, *(other for other, known in SUFFIXES.items() if known == kind))
}
"""What reads files whose names end so, in small letters; tables and memories need to be told more than a name."""


async def translated_portions(
    service: Service,
    document: Upload,
    call: Call,
    *,
    settings: ServiceSettings,
    terms: Mapping[str, str] | None = None,
    attempts: int = 1,
) -> AsyncGenerator[list[Answer], None]:
    """Translate the sentences of a document, and yield the answers to each portion, which has the time of a request for itself.

    What a busy service refuses is tried again, so many attempts in all; what is not ready in time, in halves. Where there are
    tags, only terms that the model can write itself are in the translation; none is put in afterwards. ShuttingDownError once
    the service ends.
    """
    call = replace(call, options=replace(call.options, split="none"))
    waiting, left = _portions(document.texts, settings)[::-1], attempts
    while waiting:
        if service.draining:  # nobody could fetch the document
            raise ShuttingDownError
        texts = waiting.pop()
        try:
            answers = await _translated(service, replace(call, texts=texts), terms, aligns=document.aligns)
        except OverloadedError as error:
            left -= 1
            if not left:
                raise
            await asyncio.sleep(error.retry_after or 1.0)
            waiting.append(texts)
        except TooSlowError:
            if len(texts) == 1:
                raise
            middle = len(texts) // 2
            waiting += [texts[middle:], texts[:middle]]
        else:
            left = attempts
            yield answers


async def write_translated(document: Upload, portions: AsyncGenerator[list[Answer], None]) -> bytes:
    """Return the content of a document with the translations of all of its portions."""
    answers = [answer async for portion in portions for answer in portion]
    return await asyncio.to_thread(document.written, answers)


async def _translated(service: Service, call: Call, terms: Mapping[str, str] | None, *, aligns: bool) -> list[Answer]:
    """Translate texts, with the links between words if they are needed."""
    if aligns and call.source != call.target:
        return await translate_aligned(service, call, terms)
    found = await translate(service, call, terms)
    return [one.answer or Answer(one.text, one.source, call.target, "") for one in found]


def _aligned(sentence: str, answer: Answer) -> Alignment:
    """Return the alignment of a sentence, which was sent on one line, and its translation."""
    text = " ".join(sentence.split())
    found = alignment_of(text, answer)
    if found.target == text:
        return unchanged(sentence)
    return replace(found, source=sentence, source_words=words_of(sentence))


@dataclass(frozen=True)
class Download:
    """A file that waits to be fetched."""

    name: str
    content: bytes
    until: float


@dataclass
class Downloads:
    """Files that wait to be fetched, for a while, in memory."""

    now: Callable[[], float] = time.monotonic
    waiting: dict[str, Download] = field(default_factory=dict)

    def keep(self, name: str, content: bytes) -> str:
        """Keep a file and return the name under which it can be fetched. OverloadedError if there is no room."""
        self.require_room(len(content))
        ticket = f"{secrets.token_urlsafe(16)}.{safe_name(name)}"
        self.waiting[ticket] = Download(readable_name(name), content, self.now() + KEEP_SECONDS)
        return ticket

    def require_room(self, size: int) -> None:
        """Raise OverloadedError if there is no room for so many bytes."""
        self._forget_old()
        if size + sum(len(one.content) for one in self.waiting.values()) > KEEP_BYTES:
            raise OverloadedError("too many files wait to be fetched", retry_after=60.0)

    def fetch(self, ticket: str) -> Download | None:
        """Return a file that waits, or None."""
        self._forget_old()
        return self.waiting.get(ticket)

    def _forget_old(self) -> None:
        """Forget files that nobody fetched in time."""
        for ticket in [ticket for ticket, one in self.waiting.items() if one.until < self.now()]:
            del self.waiting[ticket]


def safe_name(name: str) -> str:
    """Return the last part of a path, with nothing in it but letters without accents, digits, points, hyphens and underscores.

    >>> safe_name("../../etc/pass wd.txt"), safe_name("C:\\\\x\\\\báo cáo.TXT"), safe_name("..")
    ('pass_wd.txt', 'bao_cao.TXT', 'file')
    >>> safe_name("Отчёт.docx"), safe_name(".txt")
    ('file.docx', 'txt')
    """
    plain = unicodedata.normalize("NFKD", name.translate(BARRED))
    last = re.split(r"[/\\]", "".join(sign for sign in plain if not unicodedata.combining(sign)))[-1]
    stem, _, suffix = last.rpartition(".") if "." in last.lstrip(".") else (last, "", "")
    stem, suffix = (re.sub(r"[^A-Za-z0-9._-]+", "_", part).strip("._") for part in (stem, suffix))
    return f"{stem[-90:] or 'file'}.{suffix[-9:]}" if suffix else stem[-100:] or "file"


def readable_name(name: str) -> str:
    r"""Return the last part of a path in its own script, without what a file system may refuse.

    >>> readable_name(r"C:\x\báo cáo.TXT"), readable_name('a"b?.txt'), readable_name("..")
    ('báo cáo.TXT', 'a_b_.txt', 'file')
    """
    last = unicodedata.normalize("NFC", re.split(r"[/\\]", name)[-1])
    kept = "".join("_" if one in '<>:"|?*' or unicodedata.category(one).startswith("C") else one for one in last)
    stem, point, suffix = kept.strip(" .").rpartition(".")
    return f"{stem.encode()[:200].decode(errors='ignore')}{point}{suffix[-40:]}" or "file"


def attachment(name: str) -> dict[str, str]:
    """Return the headers of a file to be saved, with its name for programs that read no other letters than ASCII, too."""
    names = f"filename=\"{safe_name(name)}\"; filename*=UTF-8''{quote(name, safe='')}"
    return {"Content-Disposition": f"attachment; {names}", "X-Content-Type-Options": "nosniff"}


def suffix_of(name: str) -> str:
    """Return the end of a name that tells the format, in small letters.

    >>> suffix_of("a.b.TXT"), suffix_of("txt")
    ('.txt', '')
    """
    return PurePath(safe_name(name)).suffix.lower()


def _portions(texts: Sequence[str], settings: ServiceSettings) -> list[tuple[str, ...]]:
    """Divide texts so that no portion is larger than a request may be; one long text is a portion of its own."""
    portions: list[list[str]] = []
    characters = 0
    for text in texts:
        full = not portions or len(portions[-1]) >= min(PORTION, settings.max_texts)
        if full or characters + len(text) > settings.max_characters:
            portions.append([])
            characters = 0
        portions[-1].append(text)
        characters += len(text)
    return [tuple(portion) for portion in portions]
