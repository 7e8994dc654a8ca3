"""Dragoman at one size: the time and memory of its training steps, or of encoding a corpus into its store."""

import itertools
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from benchmarks.speed.corpus import generated
from benchmarks.speed.peers.child import serve
from benchmarks.speed.peers.hand import parameters

from dragoman.data.collate import collate
from dragoman.data.encode import Encoders
from dragoman.data.settings import DataSettings
from dragoman.data.store import build_store
from dragoman.machine.precision import arithmetic
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import TransformerSettings
from dragoman.text.codec import learn_codec
from dragoman.text.settings import SentencePieceSettings
from dragoman.training.flops import counting
from dragoman.training.objectives import build_objective
from dragoman.training.optimizers import build_optimizer
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step


class Peer:
    """Starts afresh with each size, so that memory is that of the size alone."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make the model and a batch of random sentences, all of one length; count the FLOPs of the first step."""
        if "pairs" in message:
            return {"threads": torch.get_num_threads()}
        torch.manual_seed(1)
        rng, size = random.Random(1), message["vocabulary"]
        lines = [[rng.randrange(4, size) for _ in range(message["length"] - 1)] for _ in range(2 * message["rows"])]
        batch = collate(list(zip(lines[::2], lines[1::2], strict=True)))
        model = build_model(TransformerSettings(**message["model"]), Vocabularies(size, size, shared=True))
        settings = TrainingSettings(steps=1, optimizer="adam", precision="float32")
        optimizer, objective = build_optimizer(model, settings), build_objective(settings)
        precision = arithmetic("float32", torch.device("cpu"))

        def step() -> Any:
            return train_step(model, objective, optimizer, batches=[batch], clip=1.0, compute=Compute(precision))

        self.step = step
        model.train()
        with counting() as count:
            step()
        step()
        return {"parameters": parameters(model), "threads": torch.get_num_threads(), "flops": count.flops}

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take steps for a while, at least two, and return the time of the median one."""
        times: list[float] = []
        begin = time.perf_counter()
        while len(times) < 2 or (time.perf_counter() - begin < message["for_seconds"] and len(times) < 1000):
            before = time.perf_counter()
            self.step()
            times.append(time.perf_counter() - before)
        return {"seconds": sorted(times)[len(times) // 2], "steps": len(times)}

    def encode(self, message: dict[str, Any]) -> dict[str, Any]:
        """Write a corpus of generated pairs, learn pieces from its beginning, and encode all of it into a store."""
        count = message["pairs"]
        with tempfile.TemporaryDirectory(prefix="dragoman-growth-") as name:
            folder = Path(name)
            pairs = generated(count, seed=1)
            with (folder / "a").open("w") as source, (folder / "b").open("w") as target:
                head = list(itertools.islice(pairs, 10_000))
                for one, other in itertools.chain(head, pairs):
                    source.write(one + "\n")
                    target.write(other + "\n")
            codec = learn_codec(
                SentencePieceSettings(size=message["vocabulary"]), (text for pair in head for text in pair)
            )
            corpus = {"source": "a", "target": "b"}
            data = DataSettings.model_validate(
                {"source": "en", "target": "fr", "root": name, "train": [corpus], "dev": [corpus]}
            )
            begin = time.perf_counter()
            encoders = Encoders(os.cpu_count() or 1)
            store, _ = build_store(folder / "cache", data, data.train, codecs=(codec, codec), encoders=encoders)
            seconds = time.perf_counter() - begin
            size = sum(path.stat().st_size for path in store.folder.iterdir())
        return {"seconds": seconds, "disk": size, "worker_memory": children()}


def children() -> int:
    """Return the most bytes that one process started from here, and ended, has had."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    serve(Peer())
