"""Marian for a given time, with its own trainer, schedule and decoder; a signal ends the training, as its manual says."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.peers import marian
from benchmarks.speed.peers.child import serve, versions
from benchmarks.speed.peers.marian import THREADS

SCHEDULE = {
    "lr-warmup": "{warm}u",
    "lr-decay-inv-sqrt": "{warm}u",
    "cost-type": "ce-mean-words",
    "exponential-smoothing": 0.001,
}
"""Marian knows no end of time beforehand, so its rate falls as its tutorials let it, and the weights are averaged over steps."""
PROGRESS = re.compile(r"Ep\. (\d+) : Up\. (\d+) : Sen\. ([\d,]+) : Cost ([\d.]+)")
"""What it prints of an update with this cost: epoch, number, sentences of the epoch so far, cost per label."""


class Peer(marian.Peer):
    """`marian train`, then `marian decode`."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Write the corpus."""
        self.message = message
        self.write(message)
        return {"threads": THREADS, "versions": versions("pymarian")}

    def fit(self, message: dict[str, Any]) -> dict[str, Any]:
        """Train for so many seconds from the line that says that training began (see `hand.Fitting`), then let it save."""
        schedule = {name: str(value).format(warm=message["warm"]) for name, value in SCHEDULE.items()}
        self.start({**self.message, "learning_rate": message["learning_rate"]}, schedule)
        self.line("Training started", 600)
        now = self._of_a_thread if message.get("processor") else time.perf_counter
        begin = now()
        while now() - begin < message["seconds"]:
            found = self.line(PROGRESS, 600)
        seconds = now() - begin
        self.process.send_signal(signal.SIGTERM)
        _, rest = self.process.communicate(timeout=120)
        print((self.rest + rest).decode(errors="replace"), file=sys.stderr)
        epochs = int(found[1]) - 1 + int(found[3].replace(",", "")) / self.pairs
        done = {"source": round(epochs * self.labels * self.ratio), "target": round(epochs * self.labels)}
        return {"seconds": seconds, "steps": int(found[2]), "loss": float(found[4]), "epochs": epochs, **done}

    def translate(self, message: dict[str, Any]) -> dict[str, Any]:
        """Translate, all in one call of its decoder; the score of a hypothesis in a beam is divided by its length."""
        lines = [" ".join(f"p{number}" for number in ids) for ids in message["sentences"]]
        command = ["decode", "-m", "model.npz", "-v", "words.yml", "words.yml", "--quiet", "--normalize", "1"]
        begin = time.perf_counter()
        found = subprocess.run(
            [
                sys.executable,
                "-m",
                "pymarian",
                *command,
                "--mini-batch",
                str(message["batch"]),
                "--beam-size",
                str(message["beam"]),
                "--cpu-threads",
                str(THREADS),
            ],
            input="\n".join(lines) + "\n",
            capture_output=True,
            text=True,
            check=True,
            cwd=self.folder,
        )
        print(found.stderr, file=sys.stderr)
        hypotheses = [
            [int(word[1:]) for word in line.split() if word.startswith("p")]
            for line in found.stdout.split("\n")[: len(lines)]
        ]
        return {"hypotheses": hypotheses, "seconds": [time.perf_counter() - begin]}

    def _of_a_thread(self) -> float:
        """Return the seconds of a processor that the training has had, per thread."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") / THREADS


if __name__ == "__main__":
    serve(Peer())
