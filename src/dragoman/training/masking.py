"""Masked language modelling: some tokens are masked, and the model predicts them (Devlin et al. 2019, section 3.1).

This corruption of the text is not an attention mask: every position may still see every real token.
"""

import random
from collections.abc import Iterator
from typing import Any

import torch

from dragoman.interfaces import Batch, Loss, Padded
from dragoman.models.masked_lm import MaskedLanguageModel
from dragoman.special_ids import SPECIAL_IDS, SpecialIds
from dragoman.training.contracts import Stream

MASK_RATE = 0.15
"""Share of the tokens to predict."""

MASKED, REPLACED = 0.8, 0.1
"""Of these, the shares replaced by [MASK] and by a random token; the others are kept."""


def mask_tokens(
    batch: Batch,
    vocabulary: int,
    generator: torch.Generator,
    *,
    special: SpecialIds = SPECIAL_IDS,
) -> Batch:
    """Mask some source tokens, on the CPU; the result's `labels` are the original source, `real` marks the chosen tokens.

    Each real token but EOS is chosen with probability 0.15, and at least one in a batch. Labels and source positions are the
    same: a masked language model tells the token at a position, not the next one.
    """
    ids, mask = batch.source.ids, batch.source.mask
    may_hide = mask & (ids != special.eos)
    draw = torch.rand(ids.shape, generator=generator).masked_fill(~may_hide, 2.0)
    chosen = (draw < MASK_RATE) if (draw < MASK_RATE).any() else may_hide & (draw == draw.min())
    fate = torch.rand(ids.shape, generator=generator)
    others = torch.randint(vocabulary - len(special.all), ids.shape, generator=generator)
    for one in special.all:  # in ascending order: skip them
        others += others >= one
    hidden = torch.where(fate < MASKED, special.mask, torch.where(fate < MASKED + REPLACED, others, ids))
    target = Padded(
        torch.nn.functional.pad(ids, (1, 0), value=special.bos), torch.nn.functional.pad(chosen, (1, 0), value=False)
    )
    return Batch(Padded(torch.where(chosen, hidden, ids), mask), target)


class MaskingStream(Iterator[Batch]):
    """The batches of another stream with tokens masked, differently in every epoch.

    Which ones depends on `seed` and the position alone, since all processes of a training must mask the same.
    """

    def __init__(self, stream: Stream, vocabulary: int, special: SpecialIds = SPECIAL_IDS, *, seed: int) -> None:
        self.stream = stream
        self.vocabulary = vocabulary
        self.special = special
        self.seed = seed

    def __next__(self) -> Batch:
        place = " ".join(map(str, self.stream.position.values()))
        generator = torch.Generator().manual_seed(random.Random(f"{self.seed} {place} masked").getrandbits(63))
        return mask_tokens(next(self.stream), self.vocabulary, generator, special=self.special)

    @property
    def position(self) -> dict[str, int]:
        """Return the position of the next batch."""
        return self.stream.position

    @property
    def epochs_done(self) -> float:
        """Return the number of passes over the corpus so far."""
        return self.stream.epochs_done

    def seek(self, position: dict[str, Any]) -> None:
        """Move to a position from a stream over the same corpus."""
        self.stream.seek(position)

    def close(self) -> None:
        """Stop preparing batches in the background."""
        self.stream.close()


def masked_loss(model: MaskedLanguageModel, batch: Batch, *, smoothing: float = 0.0) -> Loss:
    """Return the label-smoothed cross-entropy of a batch from `mask_tokens`, summed over the chosen tokens.

    The penalty for imbalanced experts is added once per chosen token.
    """
    label_positions, encoded = batch.label_positions, model.encoder(batch.source)
    tokens = len(label_positions)
    total, plain = model.head.loss(
        encoded.states.flatten(0, 1)[label_positions], batch.labels.flatten()[label_positions], smoothing
    )
    return Loss(total if encoded.penalty is None else total + encoded.penalty * tokens, tokens, plain)
