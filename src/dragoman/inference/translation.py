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

    memory: Any = None
    """What a translation memory has of the source, a `documents.memories.Recalled`, if one was asked."""

    @property
    def per_token(self) -> float:
        """The log-probability divided by the number of tokens, </s> included; undivided if the tokens are not known.

        >>> Translation("A cat.", -0.9, -1.5, token_log_probs=(-0.5, -0.5, -0.5)).per_token
        -0.5
        """
        return self.log_prob / max(len(self.token_log_probs), 1)
