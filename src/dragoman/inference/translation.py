"""A translation, independent of the engine."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Translation:
    """One translation: its text, the score it was ranked by, and the model's own log-probability of it."""

    text: str
    score: float
    log_prob: float
    alternatives: tuple["Translation", ...] = ()
    """The other translations requested with `n_best`, best first."""
    reading: Any = None
    """The attention, an `attention_map.AttentionMap`, if requested."""
    token_log_probs: tuple[float, ...] = ()
    """The model's log-probability of each token of the target, </s> last; empty if CTranslate2 searched."""
    ids: tuple[int, ...] = ()
    """The tokens of the target, without </s>."""
    assessment: Any = None
    """How far it can be trusted, a `confidence.assessment.Assessment`, if an `Assessor` translated."""
