"""The hand-written loop that every PyTorch peer is driven by: given batches, Adam, clipping at 1."""

import json
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

PAD, BOS, EOS = 0, 1, 2


class Rectangles:
    """A batch as tensors: `source` with EOS, `inputs` with BOS, `labels` with EOS; `tokens` counts sources and labels."""

    def __init__(self, batch: dict[str, Any]) -> None:
        self.source = _rectangle([[*ids, EOS] for ids in batch["source"]])
        self.inputs = _rectangle([[BOS, *ids] for ids in batch["target"]])
        self.labels = _rectangle([[*ids, EOS] for ids in batch["target"]])
        self.target_tokens = int((self.labels != PAD).sum())


def read_batches(path: str) -> list[dict[str, Any]]:
    """Return the batches that all peers are given."""
    batches: list[dict[str, Any]] = json.loads(Path(path).read_text(encoding="utf-8"))
    return batches


def read_pieces(path: str) -> list[str]:
    """Return the pieces of the vocabulary in the order of their ids; the first four are <pad>, <s>, </s> and <unk>."""
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1]


def parameters(model: nn.Module) -> int:
    """Count the weights."""
    return sum(parameter.numel() for parameter in model.parameters())


class HandLoop:
    """A peer whose model gives logits; `build` makes the model, `logits` calls it."""

    model: nn.Module

    def build(self, message: dict[str, Any]) -> nn.Module:
        """Make the model."""
        raise NotImplementedError

    def logits(self, batch: Rectangles) -> Tensor:
        """Return the logits of each target position."""
        raise NotImplementedError

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Read the batches, and make model and optimiser."""
        torch.manual_seed(1)
        self.batches = read_batches(message["batches"])
        self.smoothing = message["label_smoothing"]
        self.model = self.build(message)
        self.model.train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=message["learning_rate"], betas=(0.9, 0.98))
        return {"parameters": parameters(self.model), "threads": torch.get_num_threads()}

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a step over each batch named, and return the time and the last loss per token."""
        begin = time.perf_counter()
        for number in message["batches"]:
            loss = self.step(Rectangles(self.batches[number]))
        return {"seconds": time.perf_counter() - begin, "loss": loss}

    def step(self, batch: Rectangles) -> float:
        """Take one step."""
        self.optimizer.zero_grad()
        logits = self.logits(batch)
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD, label_smoothing=self.smoothing
        )
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()


def _rectangle(sentences: list[list[int]]) -> Tensor:
    """Pad on the right."""
    longest = max(map(len, sentences))
    return torch.tensor([[*ids, *[PAD] * (longest - len(ids))] for ids in sentences])
