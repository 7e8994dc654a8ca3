"""Bahdanau's attention as textbooks write it, after "Dive into Deep Learning" (d2l.ai, section 11.4), written afresh.

The decoder goes step by step: it scores the last hidden state against all source positions (projecting the keys again each time),
and joins the context to the embedding. The book applies its output layer once to all steps; with `each_step` it is applied
in the loop, as other tutorials do.
"""

import time
from typing import Any

import torch
from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.hand import PAD, Rectangles, parameters, read_batches
from torch import Tensor, nn


class AdditiveAttention(nn.Module):
    """v . tanh(W q + U k), then a masked softmax and an average."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Return the context, (batch, 1, hidden)."""
        features = torch.tanh(self.query(query)[:, :, None] + self.key(keys)[:, None])
        scores = self.score(features).squeeze(-1).masked_fill(~mask[:, None], -1e6)
        return self.dropout(scores.softmax(-1)) @ keys


class Textbook(nn.Module):
    """Encoder GRU, attention, decoder GRU, output layer."""

    def __init__(self, sizes: dict[str, Any], each_step: bool) -> None:
        super().__init__()
        embedding, hidden, layers, dropout = (sizes[name] for name in ("embedding", "hidden", "layers", "dropout"))
        between = dropout if layers > 1 else 0.0
        self.each_step = each_step
        self.source = nn.Embedding(sizes["vocabulary"], embedding)
        self.encoder = nn.GRU(embedding, hidden, layers, dropout=between)
        self.attention = AdditiveAttention(hidden, dropout)
        self.target = nn.Embedding(sizes["vocabulary"], embedding)
        self.decoder = nn.GRU(embedding + hidden, hidden, layers, dropout=between)
        self.output = nn.Linear(hidden, sizes["vocabulary"])

    def forward(self, source: Tensor, inputs: Tensor) -> Tensor:
        """Return the logits of each target position."""
        states, state = self.encoder(self.source(source.T))
        keys, mask = states.transpose(0, 1), source != PAD
        outputs = []
        for token in self.target(inputs).transpose(0, 1):
            context = self.attention(state[-1][:, None], keys, mask)
            step = torch.cat([context, token[:, None]], -1)
            output, state = self.decoder(step.transpose(0, 1), state)
            outputs.append(self.output(output) if self.each_step else output)
        together = torch.cat(outputs)
        return (together if self.each_step else self.output(together)).transpose(0, 1)


class Peer:
    """The model in a hand-written loop."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make model and optimiser."""
        torch.manual_seed(1)
        torch.set_num_threads(message["threads"] or torch.get_num_threads())
        self.batches = read_batches(message["batches"])
        self.model = Textbook(message["model"], message["each_step"])
        self.model.train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=message["learning_rate"])
        return {"parameters": parameters(self.model), "threads": torch.get_num_threads()}

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a step over each batch named."""
        begin = time.perf_counter()
        for number in message["batches"]:
            batch = Rectangles(self.batches[number])
            self.optimizer.zero_grad()
            logits = self.model(batch.source, batch.inputs)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            last = loss.item()
        return {"seconds": time.perf_counter() - begin, "loss": last}


if __name__ == "__main__":
    serve(Peer())
