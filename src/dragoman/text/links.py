"""Word alignments: links between the words of a sentence and those of its translation, in the Pharaoh format."""

import re
from dataclasses import dataclass

from dragoman.errors import InputError, shorten

_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")


@dataclass(frozen=True)
class Links:
    """Links (source position, target position), from 0, of one sentence pair. Every sure link becomes possible too."""

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "possible", self.possible | self.sure)

    def flipped(self) -> "Links":
        """Return the same links seen from the other direction, (target position, source position)."""
        return Links(*(frozenset((j, i) for i, j in links) for links in (self.sure, self.possible)))


def parse_links(line: str, where: str = "alignment") -> Links:
    """Read links such as `0-0 2-1 3p2`: i-j is sure, ipj possible only. InputError names `where` and the odd word.

    >>> sorted(parse_links("0-0 1p2").possible)
    [(0, 0), (1, 2)]
    """
    sure, possible = set(), set()
    for word in line.split():
        parts = _LINK.fullmatch(word)
        if not parts:
            raise InputError(
                f"{where}: `{shorten(word)}` is not a link; write i-j (sure) or ipj (possible), counted from 0"
            )
        link = int(parts[1]), int(parts[3])
        possible.add(link)
        if parts[2] == "-":
            sure.add(link)
    return Links(frozenset(sure), frozenset(possible))


def format_links(links: Links) -> str:
    """Write links in the order of their source positions.

    >>> format_links(parse_links("2p0 0-1"))
    '0-1 2p0'
    """
    return " ".join(f"{i}{'-' if (i, j) in links.sure else 'p'}{j}" for i, j in sorted(links.possible))
