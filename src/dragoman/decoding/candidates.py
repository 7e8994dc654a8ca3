"""What a step of beam search weighed, as lists."""

import math

from jaxtyping import Float, Int
from torch import Tensor

from dragoman.decoding.hypotheses import Candidate
from dragoman.special_ids import SpecialIds


def candidates(
    sentences: Int[Tensor, " batch"],
    weighed: Int[Tensor, "batch choice 2"],
    log_prob: Float[Tensor, "batch choice"],
    *,
    followed: Int[Tensor, "batch beam 2"],
    special: SpecialIds,
) -> dict[int, list[Candidate]]:
    """Return what a step chose from, best first: pairs of parent and token, of which the `followed` are the next beam."""
    size, found = followed.shape[1], {}
    rows = (sentences.tolist(), weighed.tolist(), log_prob.tolist(), followed.tolist())
    for sentence, pairs, values, kept in zip(*rows, strict=True):
        places = {tuple(pair): place for place, pair in reversed([*enumerate(kept)])}
        found[sentence] = [
            Candidate(parent, token, value, ended=rank < size)
            if token == special.eos
            else Candidate(parent, token, value, place=places.get((parent, token)))
            for rank, ((parent, token), value) in enumerate(zip(pairs, values, strict=True))
            if value > -math.inf
        ]
    return found
