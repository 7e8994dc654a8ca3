"""Peers that learn for a given time, and translate what they are given."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.children import Child

from dragoman.text.codec import Codec

SCRIPT = {"marian": Path(__file__).parent / "peers" / "marian_fitting.py"}
"""Scripts of peers that learn with another one than they are timed with."""
BATCH = 64


def translate(child: Child, codec: Codec, sources: Sequence[str], *, beam: int) -> tuple[list[str], float]:
    """Let a peer translate sentences in batches of like lengths; return its translations and its seconds."""
    encoded = [codec.encode(source) for source in sources]
    order = sorted(range(len(encoded)), key=lambda at: len(encoded[at]))
    given = [encoded[at] for at in order]
    found = child.ask("translate", within=3600.0, sentences=given, batch=BATCH, beam=beam)
    texts = {at: codec.decode(ids) for at, ids in zip(order, found["hypotheses"], strict=True)}
    return [texts[at] for at in range(len(texts))], sum(found["seconds"])
