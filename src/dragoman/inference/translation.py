"""What a translation is, whatever computed it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Translation:
    """One translation: its text, the score it was ranked by, and the model's own log-probability of it."""

    text: str
    score: float
    log_prob: float
    alternatives: tuple["Translation", ...] = ()
    """The other translations asked for with `n_best`, best first."""
    reading: Any = None
    """What was attended to, an `attention_map.AttentionMap`, if requested."""
    token_log_probs: tuple[float, ...] = ()
    """The model's log-probability of each token of the target, </s> last; empty if CTranslate2 searched."""
