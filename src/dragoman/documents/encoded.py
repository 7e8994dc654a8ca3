"""Documents that are text: decoded, and encoded again as they were."""

from collections.abc import Callable, Sequence
from typing import Protocol

from dragoman.documents.segments import Segment
from dragoman.errors import InputError

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class TextDocument(Protocol):
    """A document that is text."""

    segments: Sequence[Segment]

    def text(self, translations: Sequence[Segment | None]) -> str:
        """Return it with translated segments."""


class EncodedDocument:
    """A document that is text, in an encoding: that of its byte order mark, the `declared` one, or UTF-8."""

    def __init__(
        self, content: bytes, where: str, make: Callable[[str], TextDocument], *, declared: str | None = None
    ) -> None:
        self._mark, self._encoding = next(
            (one for one in _MARKS if content.startswith(one[0])), (b"", declared or "utf-8")
        )
        try:
            self._document = make(content.decode(self._encoding))
        except UnicodeDecodeError:
            raise InputError(
                f"{where} is not {self._encoding.upper()}; convert it first, for example with iconv"
            ) from None
        self.segments: Sequence[Segment] = self._document.segments

    def written(self, translations: Sequence[Segment | None]) -> bytes:
        """Return the document with translated segments, in its own encoding and byte order."""
        text = self._document.text(translations)
        if self._encoding == "utf-16":
            return self._mark + text.encode("utf-16-le" if self._mark == b"\xff\xfe" else "utf-16-be")
        if self._mark:
            return self._mark + text.encode("utf-8")
        return text.encode(self._encoding, errors="xmlcharrefreplace" if self._encoding != "utf-8" else "strict")
