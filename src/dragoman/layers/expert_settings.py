"""Settings of a mixture of experts, for every architecture that has one."""

from typing import Literal

from pydantic import Field, model_validator

from dragoman.settings import Settings


class ExpertSettings(Settings):
    """Many feed-forward networks (experts), of which each token is read by a few (Shazeer et al. 2017)."""

    experts: int = Field(default=8, ge=2)
    """How many experts there are."""
    active: int = Field(default=2, ge=1)
    """k: how many read each token; with `groups`, how many groups are chosen for it, and experts in each of them."""
    groups: int | None = Field(default=None, ge=2)
    """Choose in two steps: some of so many equal groups, then experts in them. For hundreds of experts."""
    gate: Literal["noisy", "balanced"] = "noisy"
    """noisy: the k best for each token, after noise (section 2.1). balanced: in training each expert takes its share of the
    batch, its best tokens; afterwards all tokens above its threshold, which is learned (appendix F)."""
    importance: float = Field(default=0.01, ge=0)
    """Weight of the loss that makes experts count alike."""
    load: float = Field(default=0.01, ge=0)
    """noisy only: weight of the loss that gives experts equally many tokens."""

    @model_validator(mode="after")
    def _check(self) -> "ExpertSettings":
        if self.groups is not None and self.experts % self.groups:
            raise ValueError(f"`groups` is {self.groups}, which does not divide the {self.experts} experts evenly")
        choices = self.experts if self.groups is None else min(self.groups, self.experts // self.groups)
        if self.active >= choices:
            raise ValueError(f"`active` must be below {choices}, the number that it chooses from; choose a smaller one")
        return self
