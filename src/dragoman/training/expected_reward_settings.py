"""Settings of training by the expected reward of sampled translations."""

from pydantic import Field

from dragoman.settings import Settings


class RewardSettings(Settings):
    """Translations are drawn from the model and those better than the others made likelier, beside learning the references."""

    alpha: float = Field(0.017, ge=0, allow_inf_nan=False)
    """Weight of the likelihood of the references beside the expected reward (Wu et al. 2016, equation 9)."""
    samples: int = Field(15, ge=2)
    """Translations drawn of each sentence; their mean reward is what each is compared with."""
    maximum_ratio: float = Field(2.0, gt=0, allow_inf_nan=False)
    """A drawn translation has at most this many times the tokens of the reference, its </s> counted."""
