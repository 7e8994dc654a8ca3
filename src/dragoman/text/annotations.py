"""Annotated sources, in which translations between marks stand for terms: `A <begin translation> chat <end translation> sleeps.`

A model that has seen such sources in training writes these translations (Dinu et al. 2019, "Training neural machine translation
to apply terminology constraints", section 3.1, replace). Deviation: marks take the place of the paper's source factors.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from dragoman.text.codec import Codec


@dataclass(frozen=True)
class Annotation:
    """The translation of a term in a source; signs are counted without white space."""

    start: int
    """Number of signs of the source before the term."""
    end: int
    """Number of signs up to its end."""
    wished: tuple[int, ...]
    """Ids of the translation."""


def annotation(codec: Codec, text: str, place: tuple[int, int], *, translation: str) -> Annotation | None:
    """Return the translation of the term that is at a place in a text; None if the vocabulary cannot spell it."""
    wished = codec.encode_inside(translation)
    start, end = (_signs(codec.normalize(text[:at])) for at in place)
    return Annotation(start, end, tuple(wished)) if wished and codec.special.unk not in wished else None


def annotated(codec: Codec, ids: Sequence[int], text: str, *, annotations: Sequence[Annotation]) -> list[int]:
    """Return the ids of a source, sampled or with a frame perhaps, with translations in the place of terms.

    Where a term does not end with a token, the translation follows it. Ids that do not spell the text, since they were sampled
    and some are unknown, stay as they are.
    """
    frame = codec.frame_of(ids)
    inside = frame.inside(ids)
    pieces = codec.split(text) if inside == codec.encode(text) else codec.pieces(inside)
    ends = list(accumulate(map(_signs, codec.tokenizer.surfaces(pieces))))
    if not annotations or not ends or ends[-1] != _signs(codec.normalize(text)):
        return list(ids)
    begin, end = codec.marks
    found, done = list[int](), 0
    for one in sorted(annotations, key=lambda one: one.start):
        first, last = bisect_right(ends, one.start), bisect_left(ends, one.end)
        alone = ends[last] == one.end and one.start == (ends[first - 1] if first else 0)
        found += [*inside[done : first if alone else last + 1], begin, *one.wished, end]
        done = last + 1
    return frame.around([*found, *inside[done:]])


def _signs(text: str) -> int:
    """Count the signs of a text but white space."""
    return len("".join(text.split()))
