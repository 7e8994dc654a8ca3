"""Which trainings the atlas needs, and which of them are done."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.atlas.agreed import METHOD, SHOWN
from benchmarks.atlas.corpora import Corpus
from benchmarks.atlas.kinds import Kind, plan, recipe_of


@dataclass(frozen=True)
class Job:
    """One training: a kind on a corpus with a seed. All that its numbers depend on, but the code, is hashed into `key`."""

    kind: str
    corpus: str
    seed: int
    recipe: dict[str, Any] = field(compare=False)
    key: str
    work: Path
    """Folder of all trainings on this corpus."""
    show: bool
    """Whether the pictures of the kind are of this training."""
    earlier: dict[str, Any] | None = field(default=None, compare=False)
    """What the pages say was measured of it, on another day or another machine."""

    @property
    def name(self) -> str:
        """Say which training it is."""
        return f"{self.corpus} {self.kind} {self.seed}"

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.work / f"{self.kind}-{self.seed}-{self.key}"

    def described(self) -> dict[str, Any]:
        """Return what its process must know."""
        table = {name: getattr(self, name) for name in ("kind", "corpus", "seed", "key", "recipe", "show")}
        return table | {"folder": str(self.folder), "pairs": str(pairs_file(self.work))}

    def summary(self, result: dict[str, Any]) -> str:
        """Say how it came out."""
        error = f", AER {result['aer']:.3f}" if "aer" in result else ""
        return (
            f"BLEU {result['bleu']:.1f}{error}, {result['tokens_per_second']:,.0f} tokens/s, {result['seconds']:.0f} s"
        )

    def result(self) -> dict[str, Any] | None:
        """Return what was measured, if it was, and as it is measured today."""
        try:
            result = dict(json.loads((self.folder / "result.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            result = self.earlier or {}
        return result if result.get("method") == [METHOD, list(map(list, SHOWN))] else None


def jobs(
    kind: Kind,
    corpus: str,
    slice_: Corpus,
    work: Path,
    *,
    seeds: Sequence[int],
    steps: int | None,
    earlier: Mapping[str, dict[str, Any]] | None = None,
) -> Iterator[Job]:
    """Yield the trainings of a kind on a corpus; `earlier` are results by key, of which no more is left than the pages."""
    for seed in seeds:
        recipe = recipe_of(kind, corpus, slice_.data, seed, steps)
        hashed = {**recipe, "data": slice_.fingerprint}
        key = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:12]
        show = corpus == "phrasebook" and seed == seeds[0]
        yield Job(kind.name, corpus, seed, recipe, key, work, show=show, earlier=(earlier or {}).get(key))


def pairs_file(work: Path) -> Path:
    """Return where the pairs of a corpus are kept for its jobs."""
    return work / "pairs.json"


def seeds_of(corpus: str, quick: bool) -> list[int]:
    """Return the seeds of a corpus; one will do for a quick look."""
    seeds = list(plan()["corpora"][corpus]["seeds"])
    return seeds[:1] if quick else seeds
