"""torch's own nn.Transformer in a hand-written loop, as tutorials do it."""

import math
from typing import Any

import torch
from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.hand import BOS, EOS, PAD, HandLoop, Rectangles
from torch import Tensor, nn


class Translation(nn.Module):
    """nn.Transformer with one matrix for both embeddings and the output layer."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.width = sizes["width"]
        self.embedding = nn.Embedding(sizes["vocabulary"], self.width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=self.width**-0.5)
        self.transformer = nn.Transformer(
            self.width,
            sizes["heads"],
            sizes["layers"],
            sizes["layers"],
            sizes["feed_forward"],
            sizes["dropout"],
            batch_first=True,
        )
        for module in self.transformer.modules():  # dropped where the others drop: embeddings and what each block adds
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0
        self.dropout = nn.Dropout(sizes["dropout"])
        angles = torch.arange(512.0)[:, None] / 10000 ** (torch.arange(0, self.width, 2) / self.width)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def embed(self, ids: Tensor) -> Tensor:
        """Look tokens up, and add their positions."""
        return self.dropout(self.embedding(ids) * math.sqrt(self.width) + self.positions[: ids.shape[1]])

    def forward(self, source: Tensor, inputs: Tensor) -> Tensor:
        """Return the logits of each target position."""
        features = self.decode(inputs, self.encode(source), source == PAD, hidden=inputs == PAD)
        return features @ self.embedding.weight.T

    def encode(self, source: Tensor) -> Tensor:
        """Return the states of the source."""
        return self.transformer.encoder(self.embed(source), src_key_padding_mask=source == PAD)

    def decode(self, inputs: Tensor, states: Tensor, padding: Tensor, *, hidden: Tensor | None = None) -> Tensor:
        """Return the features of each target position."""
        length = inputs.shape[1]
        return self.transformer.decoder(
            self.embed(inputs),
            states,
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            tgt_key_padding_mask=hidden,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )

    def greedy(self, source: Tensor, length: int) -> Tensor:
        """Return the likeliest next token, again and again; all positions are computed again each time."""
        states, padding = self.encode(source), source == PAD
        ids = torch.full((len(source), 1), BOS)
        for _ in range(length):
            features = self.decode(ids, states, padding)[:, -1]
            ids = torch.cat([ids, (features @ self.embedding.weight.T).argmax(-1, keepdim=True)], 1)
            if (ids == EOS).any(1).all():
                break
        return ids[:, 1:]


class Peer(HandLoop):
    """nn.Transformer, post-norm."""

    def build(self, message: dict[str, Any]) -> nn.Module:
        """Make the model."""
        return Translation(message["model"])

    def logits(self, batch: Rectangles) -> Tensor:
        """Return the logits of each target position."""
        return self.model(batch.source, batch.inputs)

    def search(self, source: Tensor, length: int, beam: int) -> list[list[int]]:
        """Search by hand, greedily: torch has no search."""
        if beam > 1:
            raise ValueError("torch has no beam search")
        return self.model.greedy(source, length).tolist()


if __name__ == "__main__":
    serve(Peer())
