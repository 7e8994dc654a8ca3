"""The grammar of Markdown: where the text of a document is, and where the markup is in a text.

markdown-it-py reads CommonMark with GitHub's tables and strikethrough; it knows what everything is, but of most only the line.
Here its rules also say at which character.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from dragoman.documents.hypertext import KEPT, VOID
from dragoman.documents.markup import attribute
from dragoman.documents.markup import tokens as markup_tokens

if TYPE_CHECKING:
    from markdown_it.token import Token

Range = tuple[int, int]

_BREAK = re.compile(r"(?: *|\\)\n[ \t]*")
_CELL_END = re.compile(r"(?<!\\)\|")
_LONE = re.compile(
    r"\[\^[^\]\s]+\]:?|\[![A-Za-z]+\]|\[[ xX]\](?=\s)|\{[#.:%][^{}\n]*\}|(?<![\w:]):[a-z][a-z0-9_+-]*:(?![\w:])"
)
"""What only extensions read: footnotes, alerts, boxes of tasks, attributes, emoji by their names."""
_KEPT_LINE = re.compile(r":{3,}.*|\{[:%].*\}[ \t]*|import\s+(?:[^'\"]+\sfrom\s+)?(?:'[^'\"]+'|\"[^'\"]+\");?[ \t]*")
"""A line that begins or ends a block (`:::note`, `{% if a %}`), gives attributes to the one before (`{: .note}`), or imports."""
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?) ?[\w-]+(?: +[\w-]+)*(?: +\"[^\"\n]*\")?[ \t]*")
"""What begins an admonition of MkDocs, `!!! note "Title"`, if the next line is indented by four spaces."""
_DEFINITION = re.compile(r":[ \t]+(?=\S)")
"""What begins a definition, in a line after its term."""


@dataclass(frozen=True)
class Block:
    """A paragraph, heading or cell: its lines without what is before and after them, and where each begins in the document."""

    kind: Literal["paragraph", "heading", "underlined", "cell"]
    content: str
    starts: tuple[int, ...]

    def place(self, offset: int) -> int:
        """Return where a character of the content is in the document."""
        line = self.content.count("\n", 0, offset)
        return self.starts[line] + offset - (self.content.rfind("\n", 0, offset) + 1)


@dataclass(frozen=True)
class Mark:
    """A part of the content of a block: text as it is read, or markup, which also contains what is not to be translated."""

    kind: Literal["text", "open", "close", "alone", "break"]
    start: int
    end: int
    text: str = ""
    key: str = ""
    """What the marks that open and close an element have in common."""
    label: Range | None = None
    """Of an image, and of the end of a link: where the text in its brackets is."""
    inside: "tuple[Mark, ...]" = ()
    """Of an image: its alternative text."""


class Grammar:
    """Reads one document, and parts of it with the definitions of its links."""

    def __init__(self) -> None:
        from markdown_it import MarkdownIt, rules_block, rules_inline

        self._parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("fragments_join")
        self._parser.validateLink = lambda url: True  # type: ignore[method-assign]  # not to be followed
        self._environment: dict[str, Any] = {}
        blocks, inline = self._parser.block.ruler, self._parser.inline.ruler
        blocks.at("table", _with_starts(rules_block.table), {"alt": ["paragraph", "reference"]})
        blocks.at("heading", _with_starts(rules_block.heading), {"alt": ["paragraph", "reference", "blockquote"]})
        blocks.at("lheading", _with_starts(rules_block.lheading), {"alt": []})
        blocks.at("paragraph", _with_starts(rules_block.paragraph), {"alt": []})
        inline.at("link", _with_end(rules_inline.link))
        inline.at("image", _with_end(rules_inline.image))
        inline.at("backticks", _with_end(rules_inline.backtick))

    def document(self, text: str) -> list[Block]:
        """Return the blocks of a document, whose lines end with a line feed, and remember its definitions of links."""
        return self._blocks(text, self._environment)

    def blocks(self, text: str) -> list[Block]:
        """Return the blocks of a part of the document."""
        return self._blocks(text, {})

    def marks(self, content: str) -> list[Mark]:
        """Return the content of a block as text and markup; joined, they are the content."""
        found: list[Token] = []
        self._parser.inline.parse(content, self._parser, self._environment, found)
        return _marks(content, found, 0)

    def _blocks(self, text: str, environment: dict[str, Any]) -> list[Block]:
        """Return the blocks of a text."""
        tokens: list[Token] = []
        self._parser.block.parse(text, self._parser, environment, tokens)
        found: list[Block] = []
        cells: list[Block] = []
        row = -1
        for before, token in pairwise(tokens):
            if token.type != "inline" or token.map is None:
                continue
            starts = token.meta["starts"]
            if before.type in ("th_open", "td_open"):
                if token.map[0] != row:
                    row, cells = token.map[0], _cells(text, starts[0])
                found += cells[:1]
                cells = cells[1:]
            elif before.type == "heading_open" and before.markup.startswith("#"):
                start = text.index(token.content, starts[0] + len(before.markup))
                found.append(Block("heading", token.content, (start,)))
            else:
                lines = [text[start : _end_of_line(text, start)] for start in starts]
                kind: Literal["paragraph", "underlined"] = (
                    "paragraph" if before.type == "paragraph_open" else "underlined"
                )
                parts = _parts(lines, starts) if kind == "paragraph" else [(lines, starts)]
                found += [Block(kind, "\n".join(some).rstrip(" \t\n"), places) for some, places in parts]
        return [one for one in found if one.content]


def _parts(lines: Sequence[str], starts: Sequence[int]) -> list[tuple[list[str], tuple[int, ...]]]:
    """Return the lines of a paragraph and their starts, divided where an extension of Markdown begins or ends a block."""
    parts: list[list[tuple[str, int]]] = [[]]
    for number, (line, start) in enumerate(zip(lines, starts, strict=True), 1):
        is_indented = number < len(starts) and starts[number] - start - len(line) > 4
        if _KEPT_LINE.fullmatch(line) or (is_indented and _ADMONITION.fullmatch(line)):
            parts.append([])
            continue
        marker = _DEFINITION.match(line)
        if marker:
            parts.append([])
        cut = marker.end() if marker else 0
        parts[-1].append((line[cut:], start + cut))
    return [([line for line, _ in part], tuple(start for _, start in part)) for part in parts if part]


def _cells(text: str, start: int) -> list[Block]:
    """Return the cells of the row of a table that begins at a place, blank ones too."""
    row = text[start : _end_of_line(text, start)].rstrip(" \t")
    ends = [*(found.start() for found in _CELL_END.finditer(row)), len(row)]
    starts = [0, *(end + 1 for end in ends[:-1])]
    ranges = list(zip(starts, ends, strict=True))
    ranges = ranges[ranges[0] == (0, 0) :]
    ranges = ranges[: len(ranges) - (bool(ranges) and ranges[-1][0] == len(row))]
    found = []
    for first, last in ranges:
        cell = row[first:last]
        inside = cell.strip(" \t")
        found.append(Block("cell", inside, (start + first + len(cell) - len(cell.lstrip(" \t")),)))
    return found


def _marks(content: str, tokens: "Sequence[Token]", base: int) -> list[Mark]:
    """Return the marks of content that begins at `base`, by the parser's tokens, each of which follows the one before."""
    marks: list[Mark] = []
    links: list[int] = []
    place = skip = 0
    for number, token in enumerate(tokens):
        if number < skip:
            continue
        mark = _mark(content, token, place, base=base)
        if token.type == "link_open" and token.markup == "autolink":
            skip = number + 3
        elif token.type == "link_open":
            links.append(place)
        elif token.type == "link_close":
            opening = links.pop()
            mark = replace(mark, label=(base + opening + 1, base + place))
        marks.append(replace(mark, start=base + place, end=base + mark.end))
        place = mark.end
    assert place == len(content)
    return _kept_whole(_split(_merged(marks), content, base), content, base)


def _mark(content: str, token: "Token", place: int, *, base: int) -> Mark:
    """Return the mark of a token that begins at a place, in content that begins at `base`; only the label counts from there."""
    kind = token.type
    if kind == "text":
        assert content.startswith(token.content, place)
        return Mark("text", place, place + len(token.content), token.content)
    if kind == "text_special":
        return Mark("text", place, place + len(token.markup), token.content)
    if kind in ("softbreak", "hardbreak"):
        found = _BREAK.match(content, place)
        assert found is not None
        return Mark("break", place, found.end()) if kind == "hardbreak" else Mark("text", place, found.end(), "\n")
    if kind == "code_inline":
        return Mark("alone", place, token.meta["end"])
    if kind == "image":
        label = (base + place + 2, base + place + 2 + len(token.content))
        inside = tuple(_marks(token.content, token.children or [], label[0]))
        return Mark("alone", place, token.meta["end"], label=label, inside=inside)
    if kind == "html_inline":
        return _html(token.content, place)
    if kind == "link_open":
        if token.markup == "autolink":
            return Mark("alone", place, content.index(">", place) + 1)
        return Mark("open", place, place + 1, key="a")
    if kind == "link_close":
        return Mark("close", place, token.meta["end"], key="a")
    return Mark("open" if token.nesting == 1 else "close", place, place + len(token.markup), key=token.tag)


def _html(raw: str, place: int) -> Mark:
    """Return the mark of a tag of HTML."""
    tag = next(markup_tokens(raw))
    name, end = tag.name.lower(), place + len(raw)
    if name == "br":
        return Mark("break", place, end)
    if tag.kind not in ("open", "close") or name in VOID:
        return Mark("alone", place, end)
    return Mark("open" if tag.kind == "open" else "close", place, end, key=f"<{name}")


def _merged(marks: Sequence[Mark]) -> list[Mark]:
    """Join texts that follow one another and are written as they are read."""
    found: list[Mark] = []
    for mark in marks:
        last = found[-1] if found else None
        if last is not None and last.kind == mark.kind == "text" and _is_literal(last) and _is_literal(mark):
            found[-1] = replace(last, end=mark.end, text=last.text + mark.text)
        else:
            found.append(mark)
    return found


def _is_literal(mark: Mark) -> bool:
    """Tell whether text is written as it is read."""
    return mark.end - mark.start == len(mark.text) and mark.text != "\n"


def _split(marks: Sequence[Mark], content: str, base: int) -> list[Mark]:
    """Take what only extensions of Markdown read out of the texts."""
    found: list[Mark] = []
    for mark in marks:
        if mark.kind != "text" or not _is_literal(mark):
            found.append(mark)
            continue
        done = mark.start
        for lone in _LONE.finditer(content, mark.start - base, mark.end - base):
            start, end = base + lone.start(), base + lone.end()
            found += [Mark("text", done, start, content[done - base : lone.start()]), Mark("alone", start, end)]
            done = end
        found.append(Mark("text", done, mark.end, content[done - base : mark.end - base]))
    return [mark for mark in found if mark.kind != "text" or mark.text]


def _kept_whole(marks: Sequence[Mark], content: str, base: int) -> list[Mark]:
    """Make one mark of each element whose content is not to be translated: code in HTML, links to footnotes."""
    found: list[Mark] = []
    number = 0
    while number < len(marks):
        mark = marks[number]
        raw = content[mark.start - base : mark.end - base]
        kept = mark.key.removeprefix("<") in KEPT or attribute(raw, "translate") == "no"
        kept |= content.startswith("[^", mark.start - base)
        if mark.kind == "open" and kept:
            end = next(
                (n for n in range(number, len(marks)) if (marks[n].kind, marks[n].key) == ("close", mark.key)), 0
            )
            if end:
                found.append(Mark("alone", mark.start, marks[end].end))
                number = end + 1
                continue
        found.append(mark)
        number += 1
    return found


def _end_of_line(text: str, place: int) -> int:
    """Return where the line that contains a place ends."""
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _with_starts(rule: Callable[..., bool]) -> Callable[..., bool]:
    """Let a rule for blocks note where the lines of its text begin."""

    @wraps(rule)
    def located(state: Any, *place: Any) -> bool:
        count = len(state.tokens)
        found = rule(state, *place)
        if found:
            for token in state.tokens[count:]:
                if token.type == "inline":
                    token.meta["starts"] = tuple(state.bMarks[n] + state.tShift[n] for n in range(*token.map))
        return found

    return located


def _with_end(rule: Callable[..., bool]) -> Callable[..., bool]:
    """Let a rule for inline markup note where that ends."""

    @wraps(rule)
    def located(state: Any, silent: bool) -> bool:
        count = len(state.tokens)
        found = rule(state, silent)
        if found and not silent and len(state.tokens) > count:
            state.tokens[-1].meta["end"] = state.pos
        return found

    return located
