"""Word alignments in files: read, and checked against the sentences they belong to."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.text.links import Links


def parse_lines(path: Path, lines: list[str]) -> list["Links"]:
    """Return the links of every line. InputError names file and line of what is not a link."""
    from dragoman.text.links import parse_links

    return [parse_links(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]


def check_lines(path: Path, links: list["Links"], sources: list[str], *, targets: list[str]) -> None:
    """Refuse links that point beyond their sentences; InputError names file and line."""
    from dragoman.metrics.alignment import check_links

    sentences = zip(links, words(sources), words(targets), strict=True)
    for number, (one_line, source, target) in enumerate(sentences, start=1):
        check_links(one_line, len(source), len(target), where=f"{path}, line {number}")


def words(sentences: list[str]) -> list[list[str]]:
    """Split every sentence into the words that links count."""
    from dragoman.data.links import spaced

    return [spaced(sentence) for sentence in sentences]
