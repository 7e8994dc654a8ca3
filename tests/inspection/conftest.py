"""AttentionMap back the pages that Dragoman writes, as a browser would."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

VOID = {"meta", "br", "input"}


@dataclass
class Page:
    """What a page holds: its visible texts by tag, all start tags, and what its scripts and styles say."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    def words(self, tag: str) -> list[str]:
        """Return the texts that stand in elements called `tag`."""
        return [text for place, text in self.texts if place.split("/")[-1] == tag]

    def within(self, path: str) -> list[str]:
        """Return the texts whose innermost elements are `path`, such as "th/bdi"."""
        return [text for place, text in self.texts if place.endswith(f"/{path}")]


class Reader(HTMLParser):
    """Fills a Page, and fails where elements are not properly nested."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the tag."""
        self.page.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember a tag that closes itself, as in SVG."""
        self.page.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Remember the text and where it stands."""
        if self.open and self.open[-1] in ("script", "style"):
            self.page.code.append(data)
        elif data.strip():
            self.page.texts.append(("/".join(self.open), data))


def read(content: str) -> Page:
    """Parse a page whole."""
    reader = Reader()
    reader.feed(content)
    reader.close()
    assert not reader.open
    return reader.page


@pytest.fixture
def read_page() -> Callable[[str], Page]:
    """Parse a page, failing where it is not well formed."""
    return read
