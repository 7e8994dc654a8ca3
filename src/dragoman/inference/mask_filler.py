"""Sentences with blanks in, filled sentences out: a trained masked language model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.errors import InputError
from dragoman.interfaces import EOS, UNK, Padded
from dragoman.machine.devices import choose_device
from dragoman.models.masked_lm import MASK, MaskedLanguageModel
from dragoman.runs.folder import open_run
from dragoman.text.codec import Codec
from dragoman.text.pieces import SPACE, SentencePiece

BLANK = "[MASK]"
"""How a blank is written."""

STAND_IN = "ꙮ"
"""A letter that stands for a blank while text is cut into pieces; no vocabulary has it, so no piece runs across it."""


@dataclass(frozen=True)
class Candidate:
    """A piece that may fill a blank, as it is spelled, and how probable it is among all pieces."""

    text: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A sentence with its blanks filled, and for each blank the likeliest pieces while all blanks are open, best first."""

    text: str
    blanks: tuple[tuple[Candidate, ...], ...]


class MaskFiller:
    """Fills blanks with a trained masked language model, one piece of its vocabulary in each.

    >>> filler = MaskFiller.load("runs/phrasebook-masked-lm-en")  # doctest: +SKIP
    >>> filler.fill("I like to play [MASK] football.").text  # doctest: +SKIP
    'I like to play some football.'
    """

    def __init__(self, model: MaskedLanguageModel, codec: Codec) -> None:
        self.model = model
        self.codec = codec
        self.device = next(model.parameters()).device

    @classmethod
    def load(cls, run: str | Path, *, device: str = "auto") -> "MaskFiller":
        """Load a run. InputError for a run of another kind."""
        opened = open_run(Path(run))
        opened.require("fill")
        model = opened.load_any(choose_device(device))
        assert isinstance(model, MaskedLanguageModel)
        return cls(model, opened.source)

    def fill(self, sentence: str, *, top: int = 5, name: str = "the sentence") -> Filled:
        """Fill each [MASK] of a sentence with one piece; `top` pieces are told for each. Messages call it `name`.

        Of several blanks the surest is filled first, then the others are read again with it in its place.
        InputError where no [MASK] stands in the sentence, or where it is longer than the model's positions.
        """
        if BLANK not in sentence:
            raise InputError(f"{name} has no {BLANK} (`{sentence[:80]}`); write {BLANK} where a word is to be found")
        pieces, ids = self._cut(sentence)
        bound = self.model.source_positions
        if bound is not None and len(ids) + 1 > bound:
            raise InputError(
                f"{name} has {len(ids) + 1} tokens (with </s>), more than the {bound} positions of this model; shorten it, or "
                "train with a larger model.max_positions"
            )
        open_blanks = [place for place, index in enumerate(ids) if index == MASK]
        told = self._probabilities(ids)[open_blanks].topk(min(top, len(self.codec) - UNK - 1))
        blanks = [
            tuple(Candidate(self.codec.join(self.codec.pieces([index])), p) for index, p in zip(*row, strict=True))
            for row in zip(told.indices.tolist(), told.values.tolist(), strict=True)
        ]
        while open_blanks:
            probability, best = self._probabilities(ids)[open_blanks].max(-1)
            place = open_blanks.pop(surest := int(probability.argmax()))
            ids[place] = int(best[surest])
            pieces[place] = self.codec.pieces([ids[place]])[0]
        return Filled(self.codec.join(pieces), tuple(blanks))

    def _probabilities(self, ids: Sequence[int]) -> Float[Tensor, "position vocab"]:
        """Return how probable each piece is at each position; special pieces are not."""
        row = torch.tensor([[*ids, EOS]], device=self.device)
        with torch.inference_mode():
            logits = self.model.head(self.model(Padded(row, torch.ones_like(row, dtype=torch.bool))))[0].float()
            logits[:, : UNK + 1] = -torch.inf
            return logits.softmax(-1)

    def _cut(self, sentence: str) -> tuple[list[str], list[int]]:
        """Return the pieces of a sentence as they are spelled, and their ids, with MASK where a blank is."""
        pieces: list[str] = []
        for piece in self.codec.split(sentence.replace(BLANK, STAND_IN)):
            if STAND_IN in piece and pieces[-1:] == [SPACE] and isinstance(self.codec.tokenizer, SentencePiece):
                del pieces[-1]  # the piece that fills the blank brings its space along
            pieces += [part for part in re.split(f"({STAND_IN})", piece) if part]
        return pieces, [MASK if piece == STAND_IN else self.codec.tokenizer.vocabulary.id(piece) for piece in pieces]
