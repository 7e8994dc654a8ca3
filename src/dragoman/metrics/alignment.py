"""How well predicted links agree with human ones: error rate, precision, recall."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.errors import InputError
from dragoman.text.links import Links


@dataclass(frozen=True)
class AlignmentScore:
    """How well links A agree with sure links S and possible links P (Och and Ney 2003, equations 16 to 18)."""

    error_rate: float
    """1 - (|A and S| + |A and P|) / (|A| + |S|), from 0 (best) to 1."""
    precision: float
    """|A and P| / |A|; 1 without predicted links."""
    recall: float
    """|A and S| / |S|; 1 without sure links."""


def words_only(links: Links, source: Sequence[str], target: Sequence[str]) -> Links:
    """Remove links of tokens without a letter or digit, which some gold alignments never link.

    Raises InputError if a link points beyond the tokens.

    >>> sorted(words_only(Links(frozenset({(0, 0), (1, 1)})), ["Non", "."], ["No", "."]).sure)
    [(0, 0)]
    """
    check_links(links, len(source), len(target))
    kept = [{i for i, token in enumerate(side) if any(map(str.isalnum, token))} for side in (source, target)]
    return Links(
        *(frozenset((i, j) for i, j in some if i in kept[0] and j in kept[1]) for some in (links.sure, links.possible))
    )


def check_links(links: Links, source: int, target: int, *, where: str = "alignment") -> None:
    """Raise InputError, which names `where`, for links beyond a sentence pair of `source` and `target` words."""
    for i, j in sorted(links.possible):
        if i >= source or j >= target:
            raise InputError(
                f"{where}: the link {i}-{j} points beyond a sentence pair of {source} and {target} words, which count from 0; "
                "check that the links belong to this text"
            )


def alignment_scores(found: Sequence[Links], gold: Sequence[Links]) -> AlignmentScore:
    """Compare predicted links, sure or not, with `gold`. Counts are summed over all sentences before any division.

    Raises InputError if the lengths differ or there are no links.

    >>> from dragoman.text.links import parse_links
    >>> alignment_scores([parse_links("0-0 1-1")], [parse_links("0-0 1p1 2-2")])
    AlignmentScore(error_rate=0.25, precision=1.0, recall=0.5)
    """
    if len(found) != len(gold):
        raise InputError(f"there are {len(found)} alignments but {len(gold)} gold ones; they must match line by line")
    pairs = [(own.possible, links.sure, links.possible) for own, links in zip(found, gold, strict=True)]
    links, sure = sum(len(own) for own, _, _ in pairs), sum(len(gold_sure) for _, gold_sure, _ in pairs)
    right_sure = sum(len(own & gold_sure) for own, gold_sure, _ in pairs)
    right = sum(len(own & possible) for own, _, possible in pairs)
    if links + sure == 0:
        raise InputError(
            "there are no links in the alignments or the gold ones, so the error rate is undefined; check the files"
        )
    return AlignmentScore(
        error_rate=1 - (right_sure + right) / (links + sure),
        precision=right / links if links else 1.0,
        recall=right_sure / sure if sure else 1.0,
    )


def alignment_error_rate(found: Sequence[Links], gold: Sequence[Links]) -> float:
    """Return the error rate of `alignment_scores`.

    >>> from dragoman.text.links import parse_links
    >>> alignment_error_rate([parse_links("0-0 1-1")], [parse_links("0-0 1p1 2-2")])
    0.25
    """
    return alignment_scores(found, gold).error_rate
