"""Attention of a document model to previous sentences: to their words, to the sentences, and the gate."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.data.collate import pad
from dragoman.errors import InputError
from dragoman.inference.attention_map import SELF, Side, as_given
from dragoman.inspection.alignments import merge_pieces
from dragoman.inspection.picture import AttentionPicture
from dragoman.machine.torch_state import undisturbed
from dragoman.models.document import DocumentEncoder
from dragoman.models.seq2seq import Seq2Seq
from dragoman.text.codec import Codec
from dragoman.tree import map_tensors


@dataclass(frozen=True)
class DocumentReading:
    """Weights of both levels of hierarchical attention, for each token of a sentence."""

    sentence: Side
    previous: tuple[Side, ...]
    """The previous sentences, nearest last."""
    words: tuple[Float[Tensor, "head source _"], ...]
    """Weights over the tokens of each previous sentence."""
    sentences: Float[Tensor, "head source sentence"]
    """Weights over the previous sentences."""
    kept: Float[Tensor, " source"]
    """The share of each state that was kept, the mean of the gate over features."""

    def picture_of_words(self, title: str = "") -> AttentionPicture:
        """Return the picture of the lower level: a column for each previous word, with its sentence number on the first.

        A row sums to at most 1 inside each sentence, because the weight on </s> is dropped.
        """
        parts = [
            merge_pieces(weights, side.owners, self.sentence.owners)
            for weights, side in zip(self.words, self.previous, strict=True)
        ]
        columns = [
            f"{name} {word}" if first else word
            for name, side in zip(self.names, self.previous, strict=True)
            for first, word in zip([True, *[False] * len(side.words)], side.words, strict=False)
        ]
        weights = [torch.cat(parts, -1).clamp(0, 1).tolist()]
        return AttentionPicture(columns, self.sentence.words, weights, title, SELF)

    def picture_of_sentences(self, title: str = "") -> AttentionPicture:
        """Return the picture of the upper level: a column for each previous sentence."""
        weights = merge_pieces(self.sentences, range(len(self.previous)), self.sentence.owners)
        columns = [f"{name} {' '.join(side.words)}" for name, side in zip(self.names, self.previous, strict=True)]
        return AttentionPicture(columns, self.sentence.words, [weights.clamp(0, 1).tolist()], title, SELF)

    def table(self) -> str:
        """Return a line for each word: the share of its state that was kept, then the mean weight of each sentence."""
        sentences = merge_pieces(self.sentences.mean(0), range(len(self.previous)), self.sentence.owners)
        kept = merge_pieces(self.kept[:, None], [0], self.sentence.owners)
        rows = [["word", "kept", *self.names]]
        for word, numbers in zip(self.sentence.words, torch.cat([kept, sentences], -1).tolist(), strict=True):
            rows.append([word, *(f"{number:.2f}" for number in numbers)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
        )

    @property
    def names(self) -> list[str]:
        """Return the distance of each previous sentence, such as [-1] for the nearest."""
        return [f"[-{distance}]" for distance in range(len(self.previous), 0, -1)]


def read_previous(model: Seq2Seq, codec: Codec, sentence: str, *, previous: Sequence[str]) -> DocumentReading:
    """Return what a model attends to in the `previous` sentences when it reads `sentence`.

    Raises InputError for a model that does not read them, and if none is given.
    """
    if not isinstance(model.encoder, DocumentEncoder):
        raise InputError("this run does not read previous sentences; choose one whose model has `kind: document`")
    nearest = [one for one in previous if codec.encode(one)][-model.previous :]
    if not nearest:
        raise InputError("no previous sentence is given; give at least one that is not empty")
    device = next(model.parameters()).device
    with torch.inference_mode(), undisturbed():
        padded = pad([codec.encode(sentence)], [[codec.encode(one) for one in nearest]], codec.special)
        gated = model.encoder.read(map_tensors(lambda tensor: tensor.to(device), padded), need_weights=True)
    assert gated.words is not None and gated.sentences is not None
    sides = tuple(as_given(codec, one) for one in nearest)
    words = gated.words[0].float().cpu().unbind(2)
    return DocumentReading(
        as_given(codec, sentence),
        sides,
        tuple(weights[:, :, : len(side.pieces)] for weights, side in zip(words, sides, strict=True)),
        gated.sentences[0].float().cpu(),
        gated.kept[0].float().cpu(),
    )
