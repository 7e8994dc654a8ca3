"""A peer that needs no torch: it counts what it is asked, and misbehaves as its settings say."""

import os
import time
from typing import Any

from benchmarks.speed.peers.child import serve


class Peer:
    """Says what it was asked."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Take the settings."""
        print("what libraries print must not be an answer")
        self.message = message
        if message.get("refuse"):
            raise ValueError("this peer | will not /usr/lib/python/site.py load")
        return {"parameters": 12, "threads": 1, "versions": {"fake": "1.0"}}

    def steps(self, message: dict[str, Any]) -> dict[str, Any]:
        """Work, or break."""
        if message["number"] == self.message.get("die"):
            os._exit(3)
        if message["number"] == self.message.get("hang"):
            time.sleep(60)
        return {"seconds": self.message["seconds"], "loss": 1.0}

    def fit(self, message: dict[str, Any]) -> dict[str, Any]:
        """Say that all of the time was used."""
        return {"seconds": message["seconds"], "steps": 3, "epochs": 0.5, "source": 90, "target": 120, "loss": 1.0}

    def translate(self, message: dict[str, Any]) -> dict[str, Any]:
        """Say that the source is its own translation."""
        return {"seconds": [0.5], "hypotheses": message["sentences"]}


if __name__ == "__main__":
    serve(Peer())
