"""Dragoman translating, with the engine that `--engine auto` takes for the folder."""

import time
from pathlib import Path
from typing import Any

from benchmarks.speed.peers.child import serve


class Peer:
    """A translator, from text to text."""

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Load a run with torch, or an export."""
        from dragoman.inference.ctranslate2.folder import is_export
        from dragoman.inference.engines import load_translator

        begin = time.perf_counter()
        folder = Path(message["folder"])
        settings = {"precision": message["precision"]} if "precision" in message else {}
        self.translator = load_translator(folder, engine="auto" if is_export(folder) else "torch", **settings)
        seconds = time.perf_counter() - begin
        session = getattr(self.translator.engine, "session", None)
        packed = session.pack(self.translator.settings.precision) if session else None
        rounded = packed.precision if packed and packed.precision != "float32" else None
        return {"load_seconds": seconds, "rounded": rounded}

    def translate(self, message: dict[str, Any]) -> dict[str, Any]:
        """Translate `texts`, or `sentences` of ids, batch by batch; a beam ends as CTranslate2's does."""
        beam = message["beam"]
        translator = self.translator
        settings = translator.settings.model_copy(
            update={"method": "greedy" if beam == 1 else "beam", "beam": beam, "stopping": "full"}
        )
        texts = message.get("texts") or [" ".join(f"w{index}" for index in ids) for ids in message["sentences"]]
        seconds, hypotheses = [], []
        for first in range(0, len(texts), message["batch"]):
            begin = time.perf_counter()
            batch = texts[first : first + message["batch"]]
            hypotheses += [found.text for found in translator.translate(batch, settings=settings)]
            seconds.append(time.perf_counter() - begin)
        return {"seconds": seconds, "hypotheses": hypotheses if "texts" in message else []}


if __name__ == "__main__":
    serve(Peer())
