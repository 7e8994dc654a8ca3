"""Corpora and lines of the wrong size: too long for the model, too few to learn from or to decide."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dragoman.data.findings import Finding
from dragoman.data.settings import FilterSettings
from dragoman.doctor.check import Check, LineCheck, Patient, Tally
from dragoman.doctor.chunk import Chunk, Rows, Side
from dragoman.errors import number_of

FEW_FOR_TEST = 200
"""A dev or test corpus with fewer pairs decides little."""
INTERVAL = 35.0
"""A 95 % interval of BLEU on so many pairs is about this many points to each side, divided by the root of their number."""
FEW_FOR_TRAINING = 2_000
"""Hardly a model can be learned from fewer pairs."""
WEIGHTS_PER_WORD = 100
"""A model with more weights than this for each target word of the corpus memorises it."""


@dataclass(frozen=True)
class Limits:
    """What a recipe allows."""

    filters: FilterSettings
    positions: tuple[int | None, int | None] = (None, None)
    """Most tokens of source and target that the model takes, with the one that ends a sentence."""
    by_character: bool = False
    """Whether tokens are characters."""
    weights: int | None = None
    """Weights of the model."""
    trained: bool = False
    """Whether all of these start from a trained run, which little text may teach more."""
    validated: int | None = None
    """So many dev pairs, from the first, choose the best weights."""


class Limited(LineCheck):
    """A check that knows the limits."""

    def __init__(self, patient: Patient, limits: Limits) -> None:
        super().__init__(patient)
        self.limits = limits


class TooLong(Limited):
    """Lines that the filters leave out."""

    name = "too-long"
    severity = "warning"
    serious = 0.01
    what = "is longer than `data.filters` allows"
    advice = "one sentence per line is best; split it, or raise `max_words` and `max_characters`"

    def rows(self, side: Side) -> Rows:
        """Find lines with too many words or characters."""
        filters = self.limits.filters
        words = side.words > (filters.max_words or np.inf)
        return np.flatnonzero(words | (side.codes.lengths > (filters.max_characters or np.inf)))


class LongerThanModel(Limited):
    """Lines with more tokens than the model has positions, whatever the vocabulary: words, or characters, are too many."""

    name = "longer-than-model"
    severity = "warning"
    what = "is longer than the model can take"
    advice = "raise `model.max_positions`, or lower `data.filters.max_words`"

    def rows(self, side: Side) -> Rows:
        """Find lines with more words, or characters, than the smaller number of positions."""
        most = min((one for one in self.limits.positions if one is not None), default=None)
        tokens = side.codes.lengths if self.limits.by_character else side.words
        kept = tokens <= (self.limits.filters.max_words or np.inf) if not self.limits.by_character else tokens >= 0
        return np.flatnonzero((tokens + 1 > (most or np.inf)) & kept)


class TooFew(Check):
    """A dev or test corpus whose scores are mostly chance."""

    name = "too-few-to-decide"
    severity = "warning"
    what = "has too few pairs to decide which model is better"
    advice = f"give {FEW_FOR_TEST} pairs or more, better 1,000"

    def see(self, chunk: Chunk) -> None:
        """Count pairs."""
        self.seen += len(chunk)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding if there are few, or none."""
        if self.patient.part != "train" and self.seen < FEW_FOR_TEST:
            what = "has no pairs, or `hold_out` keeps none of them"
            if self.seen:
                chance = f"BLEU varies by about {INTERVAL / self.seen**0.5:.0f} points by chance"
                what = f"has {number_of(self.seen, 'pair')}: {chance}"
            yield self.finding(Tally(self.seen), what=what)


@dataclass
class Training:
    """How much there is to learn from, in all training corpora."""

    limits: Limits
    pairs: int = 0
    words: int = 0
    corpora: list[Patient] = field(default_factory=list)

    def add(self, chunk: Chunk) -> None:
        """Count the pairs and target words of a chunk."""
        self.pairs += len(chunk)
        self.words += int(chunk.target.spoken.sum())

    def findings(self) -> Iterator[Finding]:
        """Yield a finding if there is too little."""
        if not self.corpora or self.limits.trained:
            return
        weights, file = self.limits.weights, self.corpora[0].files[0]
        several = len(self.corpora) > 1
        who, together = ("and all other training corpora have", " together") if several else ("has", "")
        if self.pairs < FEW_FOR_TRAINING:
            what = f"{who} {number_of(self.pairs, 'pair')}{together}, too few for a translator"
            yield Finding(TooLittle.name, "warning", what, TooLittle.advice, file, count=self.pairs)
        elif weights is not None and weights > WEIGHTS_PER_WORD * self.words > 0:
            what = (
                f"{who} {self.words:,} target words{together}, too few for a model of "
                f"{weights:,} weights, which will memorise them"
            )
            yield Finding(TooLittle.name, "warning", what, TooLittle.advice, file, count=self.pairs)


class TooLittle(TooFew):
    """The training corpora are too small for a translator, or for the model."""

    name = "too-little-data"
    what = "is too small to learn from"
    advice = (
        "add pairs (`docs/more-data.md`), start from a pretrained model, or choose a smaller model and more dropout"
    )


SIZES = (TooLong, LongerThanModel, TooFew)
