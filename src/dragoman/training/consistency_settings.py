"""Settings of consistency training."""

from typing import Annotated, Literal

from pydantic import Field

from dragoman.settings import Settings


class RDropSettings(Settings):
    """R-Drop: two passes with other units or words dropped out must predict the same (Liang et al. 2021).

    In a phase without dropout there is one pass.
    """

    kind: Literal["r_drop"] = "r_drop"
    weight: float = Field(5.0, gt=0)
    """Weight of the divergence between the two predictions; 5 in the paper's translations."""


class SimCutSettings(Settings):
    """SimCut: a pass in which some tokens are cut off must predict what the other predicts (Gao et al. 2022)."""

    kind: Literal["simcut"] = "simcut"
    weight: float = Field(3.0, gt=0)
    """Weight of the divergence of the second prediction from the first; 3 in the paper."""
    cutoff: float = Field(0.05, gt=0, lt=1)
    """Probability of cutting off a token of the source or of the decoder's input in the second pass: its embedding is zero."""


ConsistencySettings = Annotated[RDropSettings | SimCutSettings, Field(discriminator="kind")]
"""One way to train for consistent predictions."""
