"""Fill in masked tokens with a trained masked language model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from dragoman.errors import InputError, RunError
from dragoman.inference.session import Session, open_runs
from dragoman.interfaces import Padded
from dragoman.models.masked_lm import MaskedLanguageModel
from dragoman.text.codec import Codec
from dragoman.text.pieces import SPACE, SentencePiece

BLANK = "[MASK]"
"""How a blank is written."""

STAND_IN = "ꙮ"
"""A letter that replaces a blank during tokenisation; no vocabulary has it, so no token contains it."""


@dataclass(frozen=True)
class Candidate:
    """A token that may fill a blank, as text, and its probability."""

    text: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A sentence with its blanks filled, and the most probable tokens for each blank while all are open, best first."""

    text: str
    blanks: tuple[tuple[Candidate, ...], ...]


class MaskFiller:
    """Fills blanks with a trained masked language model, one token of its vocabulary in each.

    >>> filler = MaskFiller.load("runs/phrasebook-masked-lm-en")  # doctest: +SKIP
    >>> filler.fill("I like to play [MASK] football.").text  # doctest: +SKIP
    'I like to play some football.'
    """

    def __init__(self, model: MaskedLanguageModel, codec: Codec) -> None:
        self.session = Session([model], fixed=True)
        self.model = model
        self.codec = codec
        self.device = self.session.device

    @classmethod
    def load(cls, run: str | Path, *, device: str = "auto") -> "MaskFiller":
        """Load a run. InputError for a run of another kind."""
        (opened,), place = open_runs([run], "fill", device)
        model = opened.load_any(place)
        assert isinstance(model, MaskedLanguageModel)
        return cls(model, opened.source)

    def fill(self, sentence: str, *, top: int = 5, name: str = "the sentence") -> Filled:
        """Fill each [MASK] of a sentence with one token, and return the `top` most probable for each. Messages call it `name`.

        Of several blanks, the one with the most confident prediction is filled first, then the others are predicted again.
        Raises InputError if the sentence has no [MASK], or is longer than the model's positions.
        """
        if BLANK not in sentence:
            raise InputError(f"{name} has no {BLANK} (`{sentence[:80]}`); write {BLANK} in place of a word")
        pieces, ids = self._tokenise(sentence)
        bound = self.model.source_positions
        if bound is not None and len(ids) + 1 > bound:
            raise InputError(
                f"{name} has {len(ids) + 1} tokens (with </s>), more than the {bound} positions of this model; shorten it, or "
                "train with a larger model.max_positions"
            )
        open_blanks = [place for place, index in enumerate(ids) if index == self.codec.special.mask]
        candidates = self._probabilities(ids)[open_blanks].topk(min(top, len(self.codec) - len(self.codec.special.all)))
        blanks = [
            tuple(Candidate(self.codec.join(self.codec.pieces([index])), p) for index, p in zip(*row, strict=True))
            for row in zip(candidates.indices.tolist(), candidates.values.tolist(), strict=True)
        ]
        while open_blanks:
            probability, best = self._probabilities(ids)[open_blanks].max(-1)
            place = open_blanks.pop(surest := int(probability.argmax()))
            ids[place] = int(best[surest])
            pieces[place] = self.codec.pieces([ids[place]])[0]
        return Filled(self.codec.join(pieces), tuple(blanks))

    def _probabilities(self, ids: Sequence[int]) -> Float[Tensor, "position vocab"]:
        """Return the probability of each token at each position; special tokens have probability 0."""
        with self.session.computing():
            row = torch.tensor([[*ids, self.codec.special.eos]], device=self.device)
            logits = self.model.head(self.model(Padded(row, torch.ones_like(row, dtype=torch.bool))))[0].float()
            if not logits.isfinite().all():
                raise RunError("the model produces NaN probabilities; its weights are damaged, use another checkpoint")
            logits[:, list(self.codec.special.all)] = -torch.inf
            return logits.softmax(-1)

    def _tokenise(self, sentence: str) -> tuple[list[str], list[int]]:
        """Return the tokens of a sentence as they are spelled, and their ids, with [MASK] where a blank is."""
        pieces: list[str] = []
        for piece in self.codec.split(sentence.replace(BLANK, STAND_IN)):
            if STAND_IN in piece and pieces[-1:] == [SPACE] and isinstance(self.codec.tokenizer, SentencePiece):
                del pieces[-1]  # the token that fills the blank includes its space
            pieces += [part for part in re.split(f"({STAND_IN})", piece) if part]
        mask, vocabulary = self.codec.special.mask, self.codec.tokenizer.vocabulary
        return pieces, [mask if piece == STAND_IN else vocabulary.id(piece) for piece in pieces]
