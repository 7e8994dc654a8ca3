"""The simpler simple recurrent unit, which stands for self-attention in decoders that must be fast."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn


@dataclass(frozen=True)
class Cell:
    """What a unit remembers of the positions so far."""

    state: Float[Tensor, "batch width"]


class SimplerRecurrentUnit(nn.Module):
    """c_t = f_t c_(t-1) + (1 - f_t) W x_t with f_t = sigmoid(W_f x_t + b_f), and the output ReLU(c_t).

    All products depend on the input alone, so only sums and elementwise products follow the time. Source: Kim et al. 2019 ("From
    research to production and back"), section 3.1, equations 4 to 6; the SSRU of Marian.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width, bias=False)
        self.forget = nn.Linear(width, width)
        for layer in (self.inner, self.forget):
            nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(self.forget.bias)

    def forward(
        self, states: Float[Tensor, "batch time width"], past: Cell | None
    ) -> tuple[Float[Tensor, "batch time width"], Cell]:
        """Process positions after those in `past`; without one, the cell is 0."""
        forget = torch.sigmoid(self.forget(states))
        new = (1 - forget) * self.inner(states)
        state = torch.zeros_like(new[:, 0]) if past is None else past.state
        cells = []
        for position in range(states.shape[1]):
            state = forget[:, position] * state + new[:, position]
            cells.append(state)
        return torch.relu(torch.stack(cells, 1)), Cell(state)
