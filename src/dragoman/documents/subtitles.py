"""SubRip and WebVTT: subtitles are joined to sentences, and the translation of a sentence is divided among them again."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from dragoman.documents.containment import Span
from dragoman.documents.inline import Inline, Piece, gather, written
from dragoman.documents.markup import escaped
from dragoman.documents.segments import Segment

LINE = 42
"""Number of characters beyond which a translated line is broken into two."""

MOST = 6
"""Maximum number of subtitles that are joined."""

_TIME = r"(?:\d+:)?\d+:\d+(?:[.,]\d+)?"
_TIMES = re.compile(rf"^[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}.*$", re.MULTILINE)
_LINES = {
    "vtt": re.compile(r"\r?\n((?:[^\r\n]*\S[^\r\n]*(?:\r?\n|\Z))*)"),
    "srt": re.compile(r"(?:[ \t]*\r?\n)+(.*)", re.DOTALL),
}
"""What follows the times of a subtitle: in WebVTT its text ends at a blank line, in SubRip there is nothing else to come."""
_NUMBER = re.compile(r"(?:\A|\r?\n)[ \t]*\d+[ \t]*\r?\n\Z")
"""The number of the next subtitle."""
_TAG = re.compile(r"(<\d[\d:.]*>|\{\\[^}]*\})|<(/?)([A-Za-z]+)[^<>]*>")
_END = re.compile(r"[.!?…؟۔।॥。！？｡♪][\"'”’»)\]]*\s*$")
_DASH = re.compile(r"(\s*(?:<[^<>]*>|\{\\[^}]*\})*\s*)([-–—]+\s*)(?=[^\d\s])")
"""The dash of a speaker at the beginning of a line."""


@dataclass(frozen=True)
class _Cue:
    """A subtitle: where its text is in the file, and the text with its tags."""

    start: int
    end: int
    inline: Inline
    is_spoken: bool
    """Whether it begins with the dash of a speaker."""


class SubtitleDocument:
    """A file of subtitles. Its numbers, times, notes and styles stay as they are."""

    def __init__(self, text: str, *, is_vtt: bool) -> None:
        self._text, self._is_vtt = text, is_vtt
        self._cues = []
        found = list(_TIMES.finditer(text))
        for times, after in zip_longest(found, found[1:]):
            lines = _LINES["vtt" if is_vtt else "srt"].match(
                text, times.end(), len(text) if after is None else after.start()
            )
            if lines is None:
                continue
            own = _NUMBER.sub("", lines[1]) if after is not None and lines.end() == after.start() else lines[1]
            own = own.rstrip()
            if own:
                end = lines.start(1) + len(own)
                self._cues.append(_Cue(lines.start(1), end, _cue(own, is_vtt=is_vtt), _DASH.match(own) is not None))
        self._groups = self._joined()
        self.segments: Sequence[Segment] = [
            _segment([self._cues[n].inline.segment for n in some]) for some in self._groups
        ]

    def text(self, translations: Sequence[Segment | None]) -> str:
        """Return the text of the file with translated subtitles."""
        out, done = [], 0
        line_end = "\r\n" if "\r\n" in self._text else "\n"
        for group, translated in zip(self._groups, translations, strict=True):
            if translated is None:
                continue
            parts = _parts(translated, [len(self._cues[n].inline.segment.spans) for n in group])
            for number, part in zip(group, parts, strict=True):
                cue = self._cues[number]
                was = self._text[cue.start : cue.end]
                escape = escaped if self._is_vtt else str
                fitted = part if cue.inline.segment.breaks else _wrapped(part, several="\n" in was)
                shown = written(cue.inline, fitted, escape)
                out += [self._text[done : cue.start], shown.replace("\n", line_end)]
                done = cue.end
        return "".join([*out, self._text[done:]])

    def _joined(self) -> list[list[int]]:
        """Return the numbers of the subtitles of each sentence; dialogues, and tags alone, are not joined with others."""
        groups: list[list[int]] = []
        for number, cue in enumerate(self._cues):
            before = self._cues[groups[-1][-1]].inline.segment if groups else None
            own = cue.inline.segment
            ends = before is None or not before.text.strip() or _END.search(before.text) or before.breaks or own.breaks
            begins = cue.is_spoken or not own.text.strip() or own.text.lstrip()[:1] in "-–—♪[("
            if ends or begins or len(groups[-1]) >= MOST:
                groups.append([number])
            else:
                groups[-1].append(number)
        return groups


def _cue(text: str, *, is_vtt: bool) -> Inline:
    """Return the text of a subtitle with its tags and dashes; in a dialogue, each line is a sentence of its own."""
    pieces: list[Piece] = []
    lines = [line for line in re.split(r"\r?\n", text) if line.strip()]
    is_dialogue = any(map(_DASH.match, lines[1:]))
    for number, line in enumerate(lines):
        if number:
            pieces.append(Piece("break", "\n") if is_dialogue else Piece("text", " "))
        dash = _DASH.match(line)
        if dash:
            pieces += [*_line(dash[1], is_vtt=is_vtt), Piece("alone", dash[2])]
        pieces += _line(line[dash.end() if dash else 0 :], is_vtt=is_vtt)
    return gather([piece for piece in pieces if piece.what])


def _line(line: str, *, is_vtt: bool) -> Iterator[Piece]:
    """Yield the text and tags of a line."""
    done = 0
    for tag in _TAG.finditer(line):
        text = line[done : tag.start()]
        yield Piece("text", html.unescape(text) if is_vtt else text)
        yield Piece("alone" if tag[1] else "close" if tag[2] else "open", tag[0], tag[3])
        done = tag.end()
    yield Piece("text", html.unescape(line[done:]) if is_vtt else line[done:])


def _segment(parts: Sequence[Segment]) -> Segment:
    """Join the texts of subtitles, with a space between."""
    if len(parts) == 1:
        return parts[0]
    text, spans, cuts = "", list[Span](), list[int]()
    for part in parts:
        if text:
            cuts.append(len(text) + 1)
            text += " "
        first = len(spans)
        spans += [_moved(span, len(text), first) for span in part.spans]
        text += part.text
    return Segment(text, tuple(spans), cuts=tuple(cuts))


def _parts(segment: Segment, counts: Sequence[int]) -> list[Segment]:
    """Divide a translation at its cuts; `counts` says how many elements each part has."""
    places, parts, first = [0, *segment.cuts, len(segment.text)], [], 0
    for number, count in enumerate(counts):
        start, end = places[number], places[number + 1]
        text = segment.text[start:end].rstrip()
        spans = [_moved(span, -start, -first) for span in segment.spans[first : first + count]]
        inside = [replace(one, start=min(one.start, len(text)), end=min(one.end, len(text))) for one in spans]
        parts.append(Segment(text, tuple(inside)))
        first += count
    return parts


def _moved(span: Span, characters: int, numbers: int) -> Span:
    """Return an element at another place in another row of elements."""
    parent = None if span.parent is None else span.parent + numbers
    return Span(span.start + characters, span.end + characters, parent, span.alone)


def _wrapped(segment: Segment, *, several: bool) -> Segment:
    """Break a text into two lines of about one length if it is long, or had more than one."""
    text = segment.text
    if "\n" in text or len(text) <= (LINE if not several else LINE // 2):
        return segment
    spaces = [found.start() for found in re.finditer(" ", text)]
    if not spaces:
        return segment
    best = min(spaces, key=lambda one: abs(2 * one - len(text)))
    return replace(segment, text=f"{text[:best]}\n{text[best + 1 :]}")
