"""The hand-written loop that every PyTorch peer is driven by: given batches, Adam, clipping at 1."""

import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

PAD, BOS, EOS = 0, 1, 2


class Rectangles:
    """A batch as tensors: `source` with EOS, `inputs` with BOS, `labels` with EOS; `tokens` counts sources and labels."""

    def __init__(self, batch: dict[str, Any]) -> None:
        self.source = rectangle([[*ids, EOS] for ids in batch["source"]])
        self.inputs = rectangle([[BOS, *ids] for ids in batch["target"]])
        self.labels = rectangle([[*ids, EOS] for ids in batch["target"]])
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


class Fitting:
    """Batches until the time is over, in a new order each epoch, and the learning rate of the step that takes the last one.

    Time is the clock's or, with `processor` in the message, what a thread has had of a processor: what else the machine does
    takes nothing from it.
    """

    def __init__(self, batches: Sequence[dict[str, Any]], message: dict[str, Any]) -> None:
        self.batches = batches
        self.allowed = message["seconds"]
        self.peak, self.warm = message["learning_rate"], message["warm"]
        self.rng = random.Random(1)
        self.taken = self.source = self.target = 0
        self.now = _of_a_thread if message.get("processor") else time.perf_counter
        self.begin = self.now()

    @property
    def seconds(self) -> float:
        """Time since it was made."""
        return self.now() - self.begin

    @property
    def rate(self) -> float:
        """Return the learning rate: a rise over the first steps, then down in a line to 0, where the time is over."""
        return self.peak * max(min(self.taken / self.warm, 1 - self.seconds / self.allowed), 0.0)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield batches."""
        while True:
            for number in self.rng.sample(range(len(self.batches)), len(self.batches)):
                if self.seconds >= self.allowed:
                    return
                batch = self.batches[number]
                self.taken += 1
                self.source += sum(len(sentence) + 1 for sentence in batch["source"])
                self.target += sum(len(sentence) + 1 for sentence in batch["target"])
                yield batch

    def numbers(self) -> dict[str, float]:
        """Say what was done."""
        epochs = self.taken / len(self.batches)
        done = {"source": self.source, "target": self.target, "steps": self.taken, "epochs": epochs}
        return {"seconds": self.seconds, **done}


def _of_a_thread() -> float:
    """Return the seconds of a processor that this process has had, per thread."""
    return time.process_time() / torch.get_num_threads()


def most(source: Tensor) -> int:
    """Return the most tokens that a translation may have: what Dragoman's validation allows."""
    return int(1.5 * source.shape[1]) + 10


def ended(ids: Sequence[int]) -> list[int]:
    """Return the tokens before the first EOS, without special ones."""
    ids = list(ids)
    return [number for number in (ids[: ids.index(EOS)] if EOS in ids else ids) if number > EOS]


class HandLoop:
    """A peer whose model gives logits; `build` makes the model, `logits` calls it, `search` translates."""

    model: nn.Module

    def build(self, message: dict[str, Any]) -> nn.Module:
        """Make the model."""
        raise NotImplementedError

    def logits(self, batch: Rectangles) -> Tensor:
        """Return the logits of each target position."""
        raise NotImplementedError

    def search(self, source: Tensor, length: int, beam: int) -> list[list[int]]:
        """Translate rows of sources into at most `length` tokens; a beam of 1 takes the likeliest next token each time."""
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

    def fit(self, message: dict[str, Any]) -> dict[str, Any]:
        """Train for so many seconds."""
        fitting = Fitting(self.batches, message)
        for batch in fitting:
            for group in self.optimizer.param_groups:
                group["lr"] = fitting.rate
            loss = self.step(Rectangles(batch))
        return {"loss": loss, **fitting.numbers()}

    def translate(self, message: dict[str, Any]) -> dict[str, Any]:
        """Translate batch by batch."""
        given, seconds, found = message["sentences"], [], list[list[int]]()
        self.model.eval()
        for first in range(0, len(given), message["batch"]):
            begin = time.perf_counter()
            source = rectangle([[*ids, EOS] for ids in given[first : first + message["batch"]]])
            with torch.inference_mode():
                found += map(ended, self.search(source, most(source), message["beam"]))
            seconds.append(time.perf_counter() - begin)
        return {"seconds": seconds, "hypotheses": found}

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


def rectangle(sentences: list[list[int]]) -> Tensor:
    """Pad on the right."""
    longest = max(map(len, sentences))
    return torch.tensor([[*ids, *[PAD] * (longest - len(ids))] for ids in sentences])
