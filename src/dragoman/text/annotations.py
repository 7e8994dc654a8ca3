"""Annotated sources, in which terms are followed by translations: `The cat <translated as> chat <end of translation> sleeps.`

A model that has seen such sources in training writes these translations (Dinu et al. 2019, "Training neural machine translation
to apply terminology constraints", section 3.1, append). Deviation: marks take the place of the paper's source factors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.text.codec import Codec


@dataclass(frozen=True)
class Annotation:
    """The translation of a term in a source."""

    place: int
    """Number of signs of the source, white space left out, up to the end of the term."""
    wished: tuple[int, ...]
    """Ids of the translation."""


def annotation(codec: Codec, before: str, translation: str) -> Annotation | None:
    """Return the translation of the term with which `before` ends; None if the vocabulary cannot spell it."""
    wished = codec.encode(translation)
    spelled = wished and codec.special.unk not in wished
    return Annotation(_signs(codec.normalize(before)), tuple(wished)) if spelled else None


def annotated(codec: Codec, ids: Sequence[int], text: str, annotations: Sequence[Annotation]) -> list[int]:
    """Return the ids of a source, sampled or with a frame perhaps, with translations after the tokens in which terms end.

    Ids that do not spell the text, since they were sampled and some are unknown, stay as they are.
    """
    frame = codec.frame_of(ids)
    inside = frame.inside(ids)
    pieces = codec.split(text) if inside == codec.encode(text) else codec.pieces(inside)
    surfaces = codec.tokenizer.surfaces(pieces)
    if _signs("".join(surfaces)) != _signs(codec.normalize(text)):
        return list(ids)
    begin, end = codec.marks
    waiting = sorted(annotations, key=lambda one: one.place)
    found, read = list[int](), 0
    for index, surface in zip(inside, surfaces, strict=True):
        found.append(index)
        read += _signs(surface)
        while waiting and waiting[0].place <= read:
            found += [begin, *waiting.pop(0).wished, end]
    return frame.around(found)


def own_tokens(codec: Codec, ids: Sequence[int]) -> list[bool]:
    """Tell of each token of a source whether it is the source's own, and not that of an annotation."""
    if not codec.marks:
        return [True] * len(ids)
    (begin, end), own, found = codec.marks, True, []
    for index in ids:
        own = own and index != begin
        found.append(own)
        own = own or index == end
    return found


def _signs(text: str) -> int:
    """Count the signs of a text but white space."""
    return len("".join(text.split()))
