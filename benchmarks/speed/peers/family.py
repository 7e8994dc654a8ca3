"""What OpenNMT-py and eole, which grew out of it, have in common: their trainers, schedules and translators are called alike."""

import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import torch
from benchmarks.speed.peers.child import versions
from benchmarks.speed.peers.hand import EOS, PAD, Fitting, ended, most, parameters, read_batches, rectangle


class Family:
    """The library's own Trainer, fed batch by batch, and its own translator."""

    packages: tuple[str, ...]
    length: int | None = None
    """Tokens that every translation must have, if any."""
    model: torch.nn.Module
    optimizer: Any
    trainer: Any

    def build(self, message: dict[str, Any]) -> None:
        """Make settings, vocabularies and model, as the library's command for training does."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make optimiser and trainer."""
        raise NotImplementedError

    def given(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Make a batch as the library's reader does."""
        raise NotImplementedError

    def translator(self, *, beam: int, least: int, longest: int) -> Any:
        """Make the library's translator for a beam (1: greedy) and the fewest and most tokens of a translation."""
        raise NotImplementedError

    def search(self, translator: Any, source: torch.Tensor, lengths: torch.Tensor) -> dict[str, Any]:
        """Let it translate rows of sources."""
        raise NotImplementedError

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make all that training needs, but the reader of files."""
        torch.manual_seed(1)
        self.batches = read_batches(message["batches"])
        self.build(message)
        self.prepare()
        self.model.train()
        about = {"parameters": parameters(self.model), "threads": torch.get_num_threads()}
        return about | {"versions": versions(*self.packages)}

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take a step over each batch named."""
        begin = time.perf_counter()
        statistics = self.trainer.train(
            ((self.given(self.batches[number]), 0) for number in message["batches"]), train_steps=0
        )
        return {"seconds": time.perf_counter() - begin, "loss": statistics.xent()}

    def fit(self, message: dict[str, Any]) -> dict[str, Any]:
        """Train for so many seconds; the optimiser asks for its rate as it asks the library's schedules."""
        fitting = Fitting(self.batches, message)
        self.optimizer._learning_rate = 1.0
        self.optimizer._learning_rate_decay_fn = lambda step: fitting.rate
        statistics = self.trainer.train(((self.given(batch), 0) for batch in fitting), train_steps=0)
        return {"loss": statistics.xent(), **fitting.numbers()}

    def translate(self, message: dict[str, Any]) -> dict[str, Any]:
        """Translate batch by batch."""
        given, seconds, found = message["sentences"], [], []
        self.model.eval()
        translator = cache(self.translator)
        for first in range(0, len(given), message["batch"]):
            begin = time.perf_counter()
            source = rectangle([[*ids, EOS] for ids in given[first : first + message["batch"]]])
            least, longest = (self.length, self.length) if self.length else (0, most(source))
            with torch.inference_mode():
                searching = translator(beam=message["beam"], least=least, longest=longest)
                answer = self.search(searching, source, (source != PAD).sum(1))
            found += [ended(hypotheses[0].tolist()) for hypotheses in answer["predictions"]]
            seconds.append(time.perf_counter() - begin)
        return {"seconds": seconds, "hypotheses": found}


class Alone(Family):
    """The translator alone, with random weights, every translation of the same length."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make the model."""
        self.length = message["target"]
        with tempfile.TemporaryDirectory(prefix="speed-vocabulary-") as folder:
            path = Path(folder) / "vocabulary.txt"
            pieces = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{at}" for at in range(4, message["model"]["vocabulary"]))]
            path.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
            self.build({"vocabulary": str(path), "label_smoothing": 0.0, "learning_rate": 1.0, **message})
        return {"versions": versions(*self.packages)}
