"""Settings of attention that every architecture shares: how scores become weights, windows, hard choices, positions."""

from typing import Annotated, Literal

from pydantic import Field

from dragoman.plugins import or_plugin
from dragoman.settings import Settings

WeightsName = Literal["softmax", "sparsemax", "entmax15"]
"""How scores become weights that sum to 1; the sparse ones give most keys exactly 0."""

RelativeName = Literal["none", "shaw", "t5", "t5_shared", "alibi", "rotary"]
"""How self-attention encodes relative positions."""
RelativeChoice = Annotated[RelativeName, *or_plugin("relative")]
"""A setting: one of these, or one of a plugin."""


class WindowSettings(Settings):
    """Local attention (Luong et al. 2015, section 3.2): each target position attends to a window of the source only."""

    kind: Literal["monotonic", "predictive"]
    """Centre of the window. monotonic (local-m): the same position. predictive (local-p): a predicted one, with a Gaussian."""
    reach: int = Field(10, ge=1)
    """D: the window has 2D + 1 positions; the Gaussian's standard deviation is D/2."""


class HardSettings(Settings):
    """Hard attention to one source position; at inference, the one with the largest weight."""

    training: Literal["reinforce", "gumbel"]
    """reinforce: sample a position and follow the reward (Xu et al. 2015, section 4.1). gumbel: straight-through
    Gumbel-softmax (Jang et al. 2017)."""
    temperature: float = Field(1.0, gt=0)
    """gumbel: temperature of the softmax whose gradient is used."""
    soft_share: float = Field(0.5, ge=0, le=1)
    """reinforce: share of target positions that use soft attention in training instead of a sampled position."""
    entropy_bonus: float = Field(0.002, ge=0)
    """reinforce: reward per nat of entropy of the weights."""
    reward_scale: float = Field(0.1, gt=0)
    """reinforce: factor of the reward."""
    baseline_decay: float = Field(0.9, ge=0, lt=1)
    """reinforce: decay of the baseline, a moving average of costs."""
