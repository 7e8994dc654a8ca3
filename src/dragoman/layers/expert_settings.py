"""Settings of a mixture of experts, for every architecture that has one."""

from typing import Literal

from pydantic import Field, model_validator

from dragoman.settings import Settings


class ExpertSettings(Settings):
    """Mixture of experts: many feed-forward networks, a few of which process each token (Shazeer et al. 2017)."""

    experts: int = Field(default=8, ge=2, le=200_000)
    """Number of experts."""
    active: int = Field(default=2, ge=1)
    """k: number of experts per token; with `groups`, number of groups per token and of experts in each of them."""
    groups: int | None = Field(default=None, ge=2)
    """Hierarchical routing: choose among this many equal groups first, then among their experts. For hundreds of experts."""
    gate: Literal["noisy", "balanced"] = "noisy"
    """noisy: the k best experts for each token, with noise (section 2.1). balanced: in training each expert takes an equal share
    of the batch, its best tokens; at inference, all tokens above its learned threshold (appendix F)."""
    importance: float = Field(default=0.01, ge=0)
    """Weight of the importance loss, which balances the experts' total gate values."""
    load: float = Field(default=0.01, ge=0)
    """noisy only: weight of the load loss, which balances the number of tokens per expert."""

    @model_validator(mode="after")
    def _check(self) -> "ExpertSettings":
        if self.groups is not None and self.experts % self.groups:
            raise ValueError(f"`groups` is {self.groups}, which does not divide the {self.experts} experts evenly")
        choices = self.experts if self.groups is None else min(self.groups, self.experts // self.groups)
        if self.active >= choices:
            raise ValueError(f"`active` must be below {choices}, the number that it chooses from; choose a smaller one")
        return self
