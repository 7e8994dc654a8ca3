"""What a model attended to while it wrote a translation: by pieces, by words, as links, as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.data.collate import collate
from dragoman.errors import InputError
from dragoman.inspection.alignments import links_from_weights, merge_pieces
from dragoman.inspection.picture import AttentionPicture
from dragoman.interfaces import EOS
from dragoman.metrics.alignment import Links
from dragoman.models.seq2seq import Seq2Seq
from dragoman.text.codec import Codec

Pair = tuple[Sequence[int], Sequence[int]]
"""Ids of a source and a target sentence, without special pieces."""


@dataclass(frozen=True)
class Side:
    """One sentence as the model saw it: its pieces with </s> last, its words, and the word of each piece."""

    pieces: list[str]
    words: list[str]
    owners: list[int | None]
    """None for a piece that belongs to no word, such as </s>."""


@dataclass(frozen=True)
class Reading:
    """Weights of each layer and head over the source, for every piece of the target; row t is the step that wrote piece t."""

    source: Side
    target: Side
    weights: Float[Tensor, "layer head target source"]

    def mean(self) -> Float[Tensor, "target source"]:
        """Average the weights over layers and heads."""
        return self.weights.mean((0, 1))

    def by_words(self) -> Float[Tensor, "layer head target_word source_word"]:
        """Put pieces together into words; weight on </s> is left out."""
        return merge_pieces(self.weights, self.source.owners, self.target.owners)

    def links(self, layer: int | None = None, head: int | None = None) -> Links:
        """Link each target word to the source word it looked at most, in one layer or head or in their mean.

        Layers and heads count from 1. InputError where there is none of that number.
        """
        for name, wish, size in (("layer", layer, self.weights.shape[0]), ("head", head, self.weights.shape[1])):
            if wish is not None and not 1 <= wish <= size:
                raise InputError(f"there is no {name} {wish}; this model has {size}, counted from 1")
        weights = self.by_words()
        weights = weights if layer is None else weights[layer - 1 : layer]
        weights = weights if head is None else weights[:, head - 1 : head]
        return Links(frozenset(links_from_weights(weights.mean((0, 1)))))

    def picture(self, title: str = "", *, pieces: bool = False) -> AttentionPicture:
        """Return the picture of all layers and heads, with words on the axes, or with pieces and </s>."""
        if pieces:
            return AttentionPicture(self.source.pieces, self.target.pieces, self.weights.tolist(), title)
        return AttentionPicture(self.source.words, self.target.words, self.by_words().clamp(0, 1).tolist(), title)


def read(model: Seq2Seq, codecs: tuple[Codec, Codec], pairs: Sequence[Pair]) -> list[Reading]:
    """Run pairs through a model, all in one batch, and keep the weights. InputError for a model without attention."""
    device = next(model.parameters()).device
    batch = collate(pairs).to(device)
    with torch.inference_mode():
        attention = model(batch.source, batch.inputs, need_weights=True).attention
    if attention is None:
        raise InputError("this model has no attention over the source; choose a run whose model has one")
    readings = []
    for weights, (source, target) in zip(attention.float().cpu(), pairs, strict=True):
        sides = [side(codec, ids) for codec, ids in zip(codecs, (source, target), strict=True)]
        readings.append(Reading(sides[0], sides[1], weights[:, :, : len(target) + 1, : len(source) + 1]))
    return readings


def side(codec: Codec, ids: Sequence[int]) -> Side:
    """Describe a sentence with its space-separated words."""
    owners: list[int | None] = [owner if owner >= 0 else None for owner in codec.piece_words([*ids, EOS])]
    return Side(codec.pieces([*ids, EOS]), codec.words(codec.decode(ids)), owners)


def with_words(codec: Codec, text: str, words: Sequence[str]) -> Side:
    """Describe a sentence with words cut otherwise, such as those of gold alignments; together they spell the sentence.

    A piece belongs to the word that holds its first letter.
    """
    pieces = codec.split(text)
    surfaces = codec.tokenizer.surfaces(pieces)
    if "".join("".join(surfaces).split()) != "".join("".join(words).split()):
        raise InputError(f"the words `{' '.join(words)}` do not spell the sentence `{text}`")
    ends = list(accumulate(len("".join(word.split())) for word in words))
    starts = [0, *accumulate(len("".join(surface.split())) for surface in surfaces)]
    owners: list[int | None] = [next((w for w, end in enumerate(ends) if start < end), None) for start in starts[:-1]]
    return Side([*pieces, "</s>"], list(words), [*owners, None])
