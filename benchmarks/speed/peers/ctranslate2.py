"""CTranslate2 through its own API, as its documentation shows it."""

import time
from typing import Any

from benchmarks.speed.peers.child import serve, versions


class Peer:
    """A model in CTranslate2's format."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Load the model of an export."""
        import os

        import ctranslate2

        threads = int(os.environ.get("OMP_NUM_THREADS", 0)) or os.cpu_count() or 1
        begin = time.perf_counter()
        self.model = ctranslate2.Translator(message["folder"], intra_threads=threads)
        return {"load_seconds": time.perf_counter() - begin, "versions": versions("ctranslate2")}

    def translate(self, message: dict[str, Any]) -> dict[str, Any]:
        """Translate batch by batch."""
        pieces = [[f"w{index}" for index in ids] for ids in message["sentences"]]
        seconds = []
        for first in range(0, len(pieces), message["batch"]):
            begin = time.perf_counter()
            self.model.translate_batch(pieces[first : first + message["batch"]], beam_size=message["beam"])
            seconds.append(time.perf_counter() - begin)
        return {"seconds": seconds}


if __name__ == "__main__":
    serve(Peer())
