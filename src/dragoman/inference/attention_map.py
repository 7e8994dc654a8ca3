"""The attention behind a translation: by tokens, by words, as word alignments, as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.data.collate import collate
from dragoman.data.links import spaced
from dragoman.errors import InputError, RunError
from dragoman.inspection.alignments import links_from_weights, merge_pieces
from dragoman.inspection.picture import AttentionPicture
from dragoman.machine.torch_state import undisturbed
from dragoman.models.seq2seq import Seq2Seq
from dragoman.text.codec import Codec
from dragoman.text.frames import Frame
from dragoman.text.links import Links

Pair = tuple[Sequence[int], Sequence[int]]
"""Ids of a source and a target sentence, without special tokens."""


SELF = ("key", "query")
"""What the columns and the rows of a picture are where both are of one side."""


@dataclass(frozen=True)
class Side:
    """One sentence as the model saw it: its tokens, with its language tag and </s>, its words, and the word of each token."""

    pieces: list[str]
    words: list[str]
    owners: list[int | None]
    """None for a token that belongs to no word, such as </s>."""
    before: int = 0
    """How many tokens come before those of the text: its language tag."""
    after: int = 1
    """How many come after: </s>."""

    @property
    def text(self) -> slice:
        """The places of the tokens of the text."""
        return slice(self.before, len(self.pieces) - self.after)

    def framed_as(self, other: "Side") -> "Side":
        """Return the sentence with those tokens around its text that it has in another form; they belong to no word."""
        added = len(other.pieces) - other.after - len(self.pieces[self.text])
        before, after = other.pieces[:added], other.pieces[len(other.pieces) - other.after :]
        owners = [*[None for _ in before], *self.owners[self.text], *[None for _ in after]]
        return Side([*before, *self.pieces[self.text], *after], self.words, owners, added, other.after)


@dataclass(frozen=True)
class AttentionMap:
    """Weights of each layer and head over the source, for every token of the target; row t is the step that generated token t."""

    source: Side
    target: Side
    weights: Float[Tensor, "layer head target source"]

    def mean(self) -> Float[Tensor, "target source"]:
        """Average the weights over layers and heads."""
        return self.weights.mean((0, 1))

    def mean_of_text(self) -> Float[Tensor, "_ _"]:
        """Return the mean weights between the tokens of the texts, without tag and </s>."""
        return self.mean()[self.target.text, self.source.text]

    def by_words(self, *, shift: bool = False) -> Float[Tensor, "layer head target_word source_word"]:
        """Merge tokens into words; weight on </s> and on a language tag is dropped.

        `shift` takes, for each target token, the step with it as input rather than the one that generated it, which did not
        know it yet (Chen et al. 2020, section 3.1). The step that generated </s> had the last token as input.
        """
        if shift:
            return merge_pieces(self.weights[:, :, 1:], self.source.owners, self.target.owners[:-1])
        return merge_pieces(self.weights, self.source.owners, self.target.owners)

    def links(self, layer: int | None = None, head: int | None = None, *, shift: bool = False) -> Links:
        """Align each target word with the source word it attended to most, in one layer or head or in their mean.

        Layers and heads count from 1; `shift` is that of `by_words`. Raises InputError if it does not exist.
        """
        return HeadSelection(layer, head, shift).links(self)

    def picture(self, title: str = "", *, pieces: bool = False) -> AttentionPicture:
        """Return the picture of all layers and heads, with words on the axes, or with tokens, tag and </s>."""
        axes = SELF if self.source is self.target else ("source", "target")
        if pieces:
            return AttentionPicture(self.source.pieces, self.target.pieces, self.weights.tolist(), title, axes)
        words = self.by_words().clamp(0, 1).tolist()
        return AttentionPicture(self.source.words, self.target.words, words, title, axes)


@dataclass(frozen=True)
class HeadSelection:
    """The weights for word alignments: a layer and a head, from 1 (None is the mean over all), and a step."""

    layer: int | None = None
    head: int | None = None
    shift: bool = False

    def __str__(self) -> str:
        """Name the selection.

        >>> str(HeadSelection(2, shift=True))
        'layer 2, mean of heads, shifted'
        """
        layer = "mean of layers" if self.layer is None else f"layer {self.layer}"
        head = "mean of heads" if self.head is None else f"head {self.head}"
        return f"{layer}, {head}, {'shifted' if self.shift else 'not shifted'}"

    def links(self, reading: AttentionMap) -> Links:
        """Align each target word with the source word it attended to most. InputError without this layer or head."""
        return self.links_of(reading.by_words(shift=self.shift))

    def links_of(self, weights: Float[Tensor, "layer head target_word source_word"]) -> Links:
        """Return the alignment of weights that are merged into words."""
        for name, requested, size in (("layer", self.layer, weights.shape[0]), ("head", self.head, weights.shape[1])):
            if requested is not None and not 1 <= requested <= size:
                raise InputError(f"there is no {name} {requested}; this model has {size}, counted from 1")
        weights = weights if self.layer is None else weights[self.layer - 1 : self.layer]
        weights = weights if self.head is None else weights[:, self.head - 1 : self.head]
        return Links(frozenset(links_from_weights(weights.mean((0, 1)))))


def source_heads(model: Seq2Seq) -> tuple[int, int] | None:
    """Return the number of layers and heads that attend to the source; None if there are none."""
    with torch.inference_mode(), undisturbed():
        nothing = collate([([], [])], special=model.special).to(next(model.parameters()).device)
        attention = model(nothing.source, nothing.inputs, need_weights=True).attention
    return None if attention is None else (attention.shape[1], attention.shape[2])


def map_attention(
    model: Seq2Seq,
    codecs: tuple[Codec, Codec],
    pairs: Sequence[Pair],
    *,
    previous: Sequence[Sequence[Sequence[int] | None]] | None = None,
    begun: Sequence[int] | None = None,
) -> list[AttentionMap]:
    """Run pairs through a model in one batch and return the weights. InputError for a model without attention.

    `previous` is that of `collate`; `begun` says how many tokens of each target are given to the model, not written by it.
    """
    device = next(model.parameters()).device
    with torch.inference_mode(), undisturbed():
        batch = collate(pairs, previous=previous, special=codecs[1].special).to(device)
        attention = model(batch.source, batch.inputs, need_weights=True).attention
    if attention is None:
        raise InputError("this model has no attention over the source; choose a run whose model has one")
    if not attention.isfinite().all():
        raise RunError("the model's attention weights are NaN; its weights are damaged, use another checkpoint")
    readings = []
    for weights, (source, target), given in zip(attention.float().cpu(), pairs, begun or [0] * len(pairs), strict=True):
        read, written = side(codecs[0], source, codecs[0].frame_of(source)), side(codecs[1], target[given:])
        rows = slice(given, given + len(written.pieces))
        readings.append(AttentionMap(read, written, weights[:, :, rows, : len(read.pieces)]))
    return readings


def side(codec: Codec, ids: Sequence[int], frame: Frame | None = None) -> Side:
    """Describe a sentence, which may have a frame around it, with its space-separated words."""
    frame = frame or Frame()
    text, ended = frame.inside(ids), codec.special.ended(ids)
    owners: list[int | None] = [owner if owner >= 0 else None for owner in codec.piece_words(text)]
    before, after = len(frame.before), len(ended) - len(frame.before) - len(text)
    around = [None] * before, [None] * after
    return Side(codec.pieces(ended), codec.words(codec.decode(text)), [*around[0], *owners, *around[1]], before, after)


def as_given(codec: Codec, text: str) -> Side:
    """Describe a sentence with the words between its spaces, each as the model sees it, unknown ones too.

    Other white space and signs that the codec drops do not change how words are counted, so links fit tokenised files.
    """
    return with_words(codec, text, [codec.normalize(word) for word in spaced(text)])


def of_given(reading: AttentionMap, codec: Codec, text: str) -> AttentionMap:
    """Return a map whose source has the words between the spaces of a text, unknown ones too, if they spell what was read."""
    try:
        given = as_given(codec, text).framed_as(reading.source)
    except InputError:
        return reading
    return replace(reading, source=replace(reading.source, words=given.words, owners=given.owners))


def with_words(codec: Codec, text: str, words: Sequence[str]) -> Side:
    """Describe a sentence with words from another segmentation, such as that of gold alignments.

    Together the words spell the sentence. A token belongs to the word that contains its first letter.
    """
    pieces = codec.split(text)
    surfaces = codec.tokenizer.surfaces(codec.ordered(pieces))
    if "".join("".join(surfaces).split()) != "".join("".join(words).split()):
        raise InputError(f"the words `{' '.join(words)}` do not spell the sentence `{text}`")
    ends = list(accumulate(len("".join(word.split())) for word in words))
    starts = [0, *accumulate(len("".join(surface.split())) for surface in surfaces)]
    owners: list[int | None] = [next((w for w, end in enumerate(ends) if start < end), None) for start in starts[:-1]]
    return Side([*pieces, "</s>"], list(words), [*codec.ordered(owners), None])
