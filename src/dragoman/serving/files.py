"""Files that are uploaded, translated and fetched: what there is to translate in them, and where they wait."""

import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Protocol

from dragoman.errors import InputError, shorten
from dragoman.serving.interface import Answer, Call, OverloadedError, Service
from dragoman.serving.markup import Marked, TagRules, alignment_of, read_markup
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.translating import translate, translate_aligned

KEEP_SECONDS = 30 * 60.0
"""How long a file waits to be fetched."""

KEEP_BYTES = 256 << 20
"""Maximum size of all files that wait together."""

_LINE = re.compile(r"(\ufeff|\r\n|\r|\n)")


class Document(Protocol):
    """A file that has been read."""

    @property
    def aligns(self) -> bool:
        """Tell whether `written` needs to know which words belong together."""
        ...

    @property
    def texts(self) -> Sequence[str]:
        """The texts to translate, none of them empty."""
        ...

    def written(self, answers: Sequence[Answer]) -> bytes:
        """Return the content of the file with the translations of its texts."""
        ...


Reader = Callable[[bytes, str], Document]
"""Reads the content of a file, of which the name is given too. Raises InputError if it is not what its name says."""


@dataclass(frozen=True)
class TextFile:
    """A plain text, line by line; line breaks, blank lines and a byte order mark stay."""

    parts: tuple[str, ...]
    """Lines and line breaks, in turn."""
    aligns: bool = False

    @property
    def texts(self) -> list[str]:
        """The lines with anything on them."""
        return [line for line in self.parts[::2] if line.strip()]

    def written(self, answers: Sequence[Answer]) -> bytes:
        """Return the text with its lines translated."""
        left = iter(answers)
        parts = [
            next(left).text if number % 2 == 0 and part.strip() else part for number, part in enumerate(self.parts)
        ]
        return "".join(parts).encode("utf-8")


@dataclass(frozen=True)
class HtmlFile:
    """A page of HTML; all tags stay as they are."""

    marked: Marked
    aligns: bool = True

    @property
    def texts(self) -> list[str]:
        """The texts of its blocks."""
        return self.marked.texts

    def written(self, answers: Sequence[Answer]) -> bytes:
        """Return the page with its texts translated."""
        pairs = zip(self.marked.texts, answers, strict=True)
        return self.marked.written([alignment_of(text, answer) for text, answer in pairs]).text.encode("utf-8")


def read_text(content: bytes, name: str) -> TextFile:
    """Read a plain text. InputError if it is not UTF-8."""
    return TextFile(tuple(_LINE.split(_decoded(content, name))))


def read_html(content: bytes, name: str) -> HtmlFile:
    """Read a page of HTML. InputError if it is not UTF-8."""
    return HtmlFile(read_markup(_decoded(content, name), TagRules(is_html=True)))


READERS: Mapping[str, Reader] = {".txt": read_text, ".html": read_html, ".htm": read_html}
"""What reads files whose names end so, in small letters."""


async def translate_document(
    service: Service,
    document: Document,
    call: Call,
    *,
    settings: ServiceSettings,
    terms: Mapping[str, str] | None = None,
) -> bytes:
    """Translate the texts of a document, as many at once as a request may have; with terms only those without tags."""
    answers: list[Answer] = []
    for texts in _portions(document.texts, settings):
        portion = replace(call, texts=texts)
        if document.aligns and call.source != call.target:
            answers += await translate_aligned(service, portion)
        else:
            found = await translate(service, portion, terms)
            answers += [one.answer or Answer(one.text, one.source, call.target, "") for one in found]
    return document.written(answers)


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
        self._forget_old()
        if len(content) + sum(len(one.content) for one in self.waiting.values()) > KEEP_BYTES:
            raise OverloadedError("too many files wait to be fetched", retry_after=60.0)
        ticket = f"{secrets.token_urlsafe(16)}.{safe_name(name)}"
        self.waiting[ticket] = Download(safe_name(name), content, self.now() + KEEP_SECONDS)
        return ticket

    def fetch(self, ticket: str) -> Download | None:
        """Return a file that waits, or None."""
        self._forget_old()
        return self.waiting.get(ticket)

    def _forget_old(self) -> None:
        """Forget files that nobody fetched in time."""
        for ticket in [ticket for ticket, one in self.waiting.items() if one.until < self.now()]:
            del self.waiting[ticket]


def safe_name(name: str) -> str:
    """Return the last part of a path, with nothing in it but letters, digits, points, hyphens and underscores.

    >>> safe_name("../../etc/pass wd.txt"), safe_name("C:\\\\x\\\\báo cáo.TXT"), safe_name("..")
    ('pass_wd.txt', 'b_o_c_o.TXT', 'file')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^A-Za-z0-9._-]+", "_", last).strip("._")[-100:] or "file"


def suffix_of(name: str) -> str:
    """Return the end of a name that tells the format, in small letters.

    >>> suffix_of("a.b.TXT"), suffix_of("txt")
    ('.txt', '')
    """
    return PurePath(safe_name(name)).suffix.lower()


def _decoded(content: bytes, name: str) -> str:
    """Return the text of a file."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{shorten(name)} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def _portions(texts: Sequence[str], settings: ServiceSettings) -> list[tuple[str, ...]]:
    """Divide texts so that no portion is larger than a request may be; one long text is a portion of its own."""
    portions: list[list[str]] = []
    characters = 0
    for text in texts:
        full = not portions or len(portions[-1]) >= settings.max_texts
        if full or characters + len(text) > settings.max_characters:
            portions.append([])
            characters = 0
        portions[-1].append(text)
        characters += len(text)
    return [tuple(portion) for portion in portions]
