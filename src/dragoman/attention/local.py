"""Local attention: a window of the source for each target position (Luong et al. 2015, section 3.2)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.attention.settings import WindowSettings
from dragoman.machine.dtypes import upcast


class Window(nn.Module):
    """The keys that a query may see around its centre, and how their weights decay.

    monotonic (local-m): the centre of target position t is source position t, or the last one where the source is shorter (a
    deviation: the paper's window would be empty there). predictive (local-p): the centre is p = S sigmoid(v^T tanh(W s))
    with S the length of the source, and weights are multiplied by the Gaussian exp(-(j - p)^2 / (2 (D/2)^2)) without
    renormalisation (equations 9 and 10), so they sum to less than 1. Positions count from 0. With several heads, W and v are
    shared among them.
    """

    def __init__(self, settings: WindowSettings, query_dim: int) -> None:
        super().__init__()
        self.reach = settings.reach
        predictive = settings.kind == "predictive"
        self.hidden = nn.Linear(query_dim, query_dim, bias=False) if predictive else None
        self.centre = nn.Linear(query_dim, 1, bias=False) if predictive else None

    def forward(
        self,
        queries: Float[Tensor, "batch head query dim"],
        mask: Bool[Tensor, "#batch #head #query key"],
        offset: int,
        *,
        copies: int = 1,
    ) -> tuple[Bool[Tensor, "batch _ query key"], Float[Tensor, "batch head query key"] | None]:
        """Narrow `mask` to the window of each query; return it and the Gaussian factor of each key (None if monotonic).

        The queries are `copies` copies of the positions from `offset` on.
        """
        lengths = mask.sum(-1, keepdim=True)
        keys = torch.arange(mask.shape[-1], device=queries.device)
        if self.hidden is None or self.centre is None:
            steps = torch.arange(offset, offset + queries.shape[2] // copies, device=queries.device).repeat(copies)
            centres = torch.minimum(steps[:, None], lengths - 1)
            return (mask & ((keys - centres).abs() <= self.reach)).expand(queries.shape[0], -1, -1, -1), None
        centres = lengths * torch.sigmoid(upcast(self.centre(torch.tanh(self.hidden(queries)))))
        distances = keys - centres
        gaussian = torch.exp(-distances.square() / (2 * (self.reach / 2) ** 2))
        return mask & (distances.abs() <= self.reach), gaussian
