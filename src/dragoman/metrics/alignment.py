"""Word alignments: the Pharaoh format, and the alignment error rate."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.errors import InputError


@dataclass(frozen=True)
class Links:
    """Links (source position, target position), from 0, of one sentence pair. Every sure link becomes possible too."""

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "possible", self.possible | self.sure)


def parse_links(line: str, where: str = "alignment") -> Links:
    """Read links such as `0-0 2-1 3p2`: i-j is sure, ipj possible only. InputError names `where` and the odd word.

    >>> sorted(parse_links("0-0 1p2").possible)
    [(0, 0), (1, 2)]
    """
    sure, possible = set(), set()
    for word in line.split():
        parts = re.fullmatch(r"([0-9]+)([-p])([0-9]+)", word)
        if not parts:
            raise InputError(f"{where}: `{word}` is not a link; write i-j (sure) or ipj (possible), counted from 0")
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


def alignment_error_rate(found: Sequence[Links], gold: Sequence[Links]) -> float:
    """Return 1 - (|A and S| + |A and P|) / (|A| + |S|) over the corpus, from 0 (best) to 1 (Och and Ney 2003, eq. 18).

    A are the links found, sure or not; S and P the sure and possible links of `gold`. Counts are summed over all
    sentences before the one division. InputError where the lengths differ or there is no link at all.

    >>> alignment_error_rate([parse_links("0-0 1-1")], [parse_links("0-0 1p1 2-2")])
    0.25
    """
    if len(found) != len(gold):
        raise InputError(f"there are {len(found)} alignments but {len(gold)} gold ones; they must match line by line")
    pairs = [(one.possible, links.sure, links.possible) for one, links in zip(found, gold, strict=True)]
    right = sum(len(links & sure) + len(links & possible) for links, sure, possible in pairs)
    total = sum(len(links) + len(sure) for links, sure, _ in pairs)
    if total == 0:
        raise InputError(
            "there is no link in the alignments or the gold ones, so there is no error rate; check the files"
        )
    return 1 - right / total
