"""Learning-rate schedules: pure functions of the step and of the share of the budget used."""

import math
from typing import Literal

ScheduleName = Literal["inverse_root", "cosine", "linear", "constant", "plateau", "halving"]


def learning_rate(name: ScheduleName, step: int, share: float, *, peak: float, warmup: int, cuts: int = 0) -> float:
    """Return the learning rate of step `step` (from 1) when `share` (0 to 1) of the budget is used.

    All rise linearly for `warmup` steps. inverse_root then falls as 1/sqrt(step) (Vaswani et al. 2017, equation 3, with the
    peak given directly); cosine and linear fall to 0 at the end of the budget, whatever its unit; plateau falls to a tenth at
    each of `cuts` (Gehring et al. 2017, section 4.2); halving halves after 60% of the budget and each 10% more (Wu et al. 2016,
    section 8.3: 1.2 of 2 million steps, and each 200,000 more).

    >>> [learning_rate("inverse_root", step, 0.0, peak=1.0, warmup=4) for step in (2, 4, 16)]
    [0.5, 1.0, 0.5]
    >>> [round(learning_rate("cosine", 9, share, peak=1.0, warmup=0), 3) for share in (0.0, 0.5, 1.0)]
    [1.0, 0.5, 0.0]
    >>> learning_rate("linear", 9, 0.75, peak=1.0, warmup=0)
    0.25
    >>> [learning_rate("halving", 9, share, peak=1.0, warmup=0) for share in (0.59, 0.6, 0.95)]
    [1.0, 0.5, 0.0625]
    """
    rise = min(1.0, step / warmup) if warmup else 1.0
    share = min(max(share, 0.0), 1.0)
    match name:
        case "inverse_root":
            fall = math.sqrt(warmup / step) if step > warmup > 0 else 1.0
        case "cosine":
            fall = 0.5 * (1 + math.cos(math.pi * share))
        case "linear":
            fall = 1 - share
        case "constant":
            fall = 1.0
        case "plateau":
            fall = 0.1**cuts
        case "halving":
            fall = 0.5 ** max(0, math.floor(10 * share + 1e-6) - 5)
    return peak * rise * fall
