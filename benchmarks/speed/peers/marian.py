"""Marian, in the wheel pymarian: its own trainer on files of the same pairs, held (SIGSTOP) while others have their turns."""

import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.speed.peers.child import memory, serve, versions

SPECIAL = 4
THREADS = int(os.environ.get("OMP_NUM_THREADS", 0)) or os.cpu_count() or 1
FLAGS = ["--tied-embeddings-all", "--sync-sgd", "--disp-label-counts", "--overwrite"]
UPDATE = re.compile(r"Up\. (\d+) .*Cost ([\d.]+) .*\* ([\d,]+) ")
"""What Marian prints of an update: its number, its cost per label, its labels."""


class Peer:
    """`marian train`, whose batches are its own: about as many target tokens, sorted within a hundred batches."""

    folder: Path | None = None
    process: subprocess.Popen[bytes] | None = None

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Write the corpus, one word for each id, and begin to train."""
        self.write(message)
        self.start(message)
        self.update(600)
        self.process.send_signal(signal.SIGSTOP)
        return {"threads": THREADS, "versions": versions("pymarian")}

    def write(self, message: dict[str, Any]) -> None:
        """Write the pairs of the batches and the words."""
        batches = json.loads(Path(message["batches"]).read_text(encoding="utf-8"))
        self.folder = Path(tempfile.mkdtemp(prefix="marian-speed-"))
        pairs = [pair for batch in batches for pair in zip(batch["source"], batch["target"], strict=True)]
        random.Random(1).shuffle(pairs)
        for side, name in enumerate(("source", "target")):
            text = "".join(" ".join(f"p{number}" for number in pair[side]) + "\n" for pair in pairs)
            (self.folder / name).write_text(text, encoding="utf-8")
        self.ratio = sum(len(source) + 1 for source, _ in pairs) / sum(len(target) + 1 for _, target in pairs)
        self.labels = sum(len(target) + 1 for _, target in pairs)
        self.pairs = len(pairs)
        self.batch = round(self.labels / len(batches))
        words = ["</s>", "<unk>", *(f"p{number}" for number in range(SPECIAL, message["model"]["vocabulary"]))]
        self.words = len(words)
        (self.folder / "words.yml").write_text(
            "".join(f'"{word}": {at}\n' for at, word in enumerate(words)), encoding="utf-8"
        )

    def start(self, message: dict[str, Any], more: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Begin to train."""
        given = options(message, self.words, self.batch) | dict(more)
        words = [word for name, value in given.items() for word in (f"--{name}", *str(value).split())]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pymarian", "train", *words, *FLAGS],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.folder,
        )
        self.rest = b""
        self.last = ""

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take as many steps as batches are named; the step that was held half-way comes first and does not count."""
        self.process.send_signal(signal.SIGCONT)
        self.update(120)
        begin, labels = time.perf_counter(), 0
        for _ in message["batches"]:
            cost, count = self.update(120)
            labels += count
        seconds = time.perf_counter() - begin
        self.process.send_signal(signal.SIGSTOP)
        used = memory(self.process.pid)
        return {
            "seconds": seconds,
            "loss": cost,
            "target": labels,
            "source": round(labels * self.ratio),
            "memory": used,
        }

    def update(self, seconds: float) -> tuple[float, int]:
        """Wait for the next update, and return its cost and labels."""
        found = self.line(UPDATE, seconds)
        return float(found[2]), int(found[3].replace(",", ""))

    def line(self, wanted: str | re.Pattern[str], seconds: float) -> re.Match[str]:
        """Wait for a line that Marian prints."""
        assert self.process is not None and self.process.stderr is not None
        until = time.monotonic() + seconds
        while True:
            while b"\n" not in self.rest:
                ready, _, _ = select.select([self.process.stderr], [], [], max(until - time.monotonic(), 0))
                part = os.read(self.process.stderr.fileno(), 1 << 16) if ready else b""
                if not part:
                    raise RuntimeError(f"marian trains no more: {self.last}")
                self.rest += part
            line, _, self.rest = self.rest.partition(b"\n")
            self.last = line.decode(errors="replace")
            print(self.last, file=sys.stderr)
            found = re.search(wanted, self.last)
            if found:
                return found

    def close(self) -> None:
        """End the training, and delete its files."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def options(message: dict[str, Any], words: int, target: int) -> dict[str, Any]:
    """Return the options of `marian train`."""
    sizes = message["model"]
    return {
        "type": "transformer",
        "model": "model.npz",
        "train-sets": "source target",
        "vocabs": "words.yml words.yml",
        "dim-vocabs": f"{words} {words}",
        "dim-emb": sizes["width"],
        "transformer-dim-ffn": sizes["feed_forward"],
        "transformer-heads": sizes["heads"],
        "enc-depth": sizes["layers"],
        "dec-depth": sizes["layers"],
        "transformer-dropout": sizes["dropout"],
        "label-smoothing": message["label_smoothing"],
        "optimizer": "adam",
        "optimizer-params": "0.9 0.98 1e-09",
        "learn-rate": message["learning_rate"],
        "clip-norm": 1,
        "cpu-threads": THREADS,
        "mini-batch": 1000,
        "mini-batch-words": target,
        "maxi-batch": 100,
        "maxi-batch-sort": "trg",
        "max-length": 200,
        "workspace": 1500,
        "disp-freq": 1,
        "save-freq": "100000000u",
        "after-batches": 100_000_000,
        "seed": 1,
    }


if __name__ == "__main__":
    serve(Peer())
