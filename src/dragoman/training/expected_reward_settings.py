"""Settings of training by the expected reward of sampled translations."""

from pydantic import Field

from dragoman.settings import Settings


class RewardSettings(Settings):
    """Expected-reward training: sampled translations that score above the others become more probable (Wu et al. 2016)."""

    alpha: float = Field(0.017, ge=0)
    """Weight of the references' log-likelihood relative to the expected reward (Wu et al. 2016, equation 9)."""
    samples: int = Field(15, ge=2)
    """Translations sampled for each sentence; their mean reward is the baseline."""
    maximum_ratio: float = Field(2.0, gt=0)
    """A sampled translation has at most this many times the tokens of the reference, including </s>."""
