"""What training makes small: sums over target tokens, divided once by their number."""

from collections.abc import Callable

from dragoman.interfaces import Batch, Loss
from dragoman.models.seq2seq import Seq2Seq

Objective = Callable[[Seq2Seq, Batch], Loss]


def translation_loss(model: Seq2Seq, batch: Batch, *, smoothing: float = 0.0) -> Loss:
    """Return the label-smoothed cross-entropy of the target given the source, summed over real target tokens.

    Experts out of balance add their penalty once per token, so that the one division stays right.
    """
    output = model(batch.source, batch.inputs)
    real = batch.real
    tokens = int(real.sum())
    total, plain = output.head.loss(output.features[real], batch.labels[real], smoothing)
    if output.penalty is not None:
        total = total + output.penalty * tokens
    return Loss(total, tokens, plain)
