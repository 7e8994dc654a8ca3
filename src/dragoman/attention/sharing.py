"""Several hypotheses of a sentence share its keys and values, without a copy for each."""

from collections.abc import Callable

from jaxtyping import Float, Shaped
from torch import Tensor

from dragoman.interfaces import Attended, KeyValues


def attend_shared(
    attend: Callable[[Tensor, int], Attended], queries: Float[Tensor, "rows query dim"], memory: KeyValues
) -> Attended:
    """Pass the queries of all rows that share a row of `memory` to `attend` as if they were one row.

    `attend` gets queries of shape (batch of the memory, copies * query, dim) and the number of copies. Random choices are
    not separated by row, so training with REINFORCE never shares.
    """
    rows, count, _ = queries.shape
    sentences = len(memory.values)
    if rows == sentences:
        return attend(queries, 1)
    found = attend(queries.reshape(sentences, -1, queries.shape[-1]), rows // sentences)
    assert found.choice is None
    weights = found.weights
    return Attended(
        found.context.reshape(rows, count, -1),
        None if weights is None else weights.unflatten(2, (-1, count)).transpose(1, 2).flatten(0, 1),
    )


def for_each_hypothesis(tensor: Shaped[Tensor, "sentences ..."], rows: int) -> Shaped[Tensor, "{rows} ..."]:
    """Repeat the values of each sentence for each of its hypotheses, `rows` in total.

    >>> import torch
    >>> for_each_hypothesis(torch.tensor([1.0, 2.0]), 4).tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    sentences = len(tensor)
    return tensor if sentences == rows else tensor.repeat_interleave(rows // sentences, 0)
