"""From the plan of the sweep to its trainings."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from pathlib import Path
from typing import Any

import yaml

from dragoman.data.checksums import Checksums
from dragoman.errors import InputError
from dragoman.jobs.choices import dropout_for, vocabulary_size
from dragoman.runs.recipe import find_recipe, tables_of
from dragoman.settings import merge

HERE = Path(__file__).parent
BUDGETS = ("minutes", "steps", "epochs", "tokens", "flops")
OWN = "own"
"""Name of the corpus of a plan for one's own files."""
PEER_TOKENS = 125_000
"""Target tokens that another toolkit learns from in a minute of a core, about."""
PEER_PASSES = 3
"""How many times as many passes as `auto` other toolkits make before they get as much dropout: estimated from one corpus, where
Hugging Face's model was better without dropout than with 0.1 after 4 to 7 passes."""


@dataclass(frozen=True)
class Job:
    """One training: a variant on a corpus with a budget and a seed. All that decides its numbers, but the code, is in `key`."""

    corpus: str
    title: str = field(compare=False)
    """What the corpus is, for people."""
    number: int = field(compare=False)
    """Which one of the plan it is."""
    variant: str
    budget: Mapping[str, float] = field(compare=False)
    threads: int
    seed: int
    recipe: Mapping[str, Any] = field(compare=False)
    tests: tuple[str, ...]
    key: str
    work: Path
    earlier: dict[str, Any] | None = field(default=None, compare=False)
    """The committed result, if there is one."""

    @property
    def name(self) -> str:
        """Return which training it is."""
        amount = " ".join(f"{value:g} {unit}" for unit, value in self.budget.items())
        return f"{self.corpus}, {amount}, {self.variant}"

    @property
    def is_peer(self) -> bool:
        """Tell whether another toolkit is trained."""
        return "peer" in self.recipe

    @property
    def folder(self) -> Path:
        """Return the folder of the run."""
        return self.work / f"{self.corpus}-{self.variant}-{self.key}"

    def described(self) -> dict[str, Any]:
        """Return what its process must know."""
        names = ("corpus", "variant", "budget", "threads", "seed", "recipe", "tests", "key")
        return {name: getattr(self, name) for name in names} | {"folder": str(self.folder)}

    def result(self) -> dict[str, Any] | None:
        """Return what was measured."""
        try:
            return dict(json.loads((self.folder / "result.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return self.earlier

    def summary(self, result: dict[str, Any]) -> str:
        """Describe a result in a few words."""
        scores = ", ".join(f"{name} {score:.1f}" for name, score in result["bleu"].items())
        return f"BLEU {scores}; {result['tokens']:,} tokens in {result['seconds']:.0f} s"


@cache
def plan() -> dict[str, Any]:
    """Read the plan."""
    return dict(yaml.safe_load((HERE / "plan.yaml").read_text(encoding="utf-8")))


def own_plan(folder: Path, source: str, target: str, minutes: Sequence[float]) -> dict[str, Any]:
    """Return a plan for the files that own-files reads: what `auto` chooses, and all other toolkits, for some minutes each.

    The vocabulary of the others has the size that `auto` would choose, and their dropout follows from the passes for which they
    have time in the longest training. InputError names a file that is missing.
    """
    names = [f"{part}.{language}" for part in ("train", "dev") for language in (source, target)]
    missing = next((name for name in names if not (folder / name).is_file()), None)
    if missing is not None:
        raise InputError(f"there is no {folder / missing}; --files must name a folder with {', '.join(names)}")
    texts = [(folder / name).read_text(encoding="utf-8", errors="replace") for name in names[:2]]
    characters = sum(map(len, texts))
    peers = plan()["peers"]
    passes = max(minutes) * PEER_TOKENS / max(len(texts[1]) / 4, 1)
    sized = {
        **peers,
        "text": {**peers["text"], "size": vocabulary_size(characters)},
        "model": {**peers["model"], "dropout": dropout_for(passes / PEER_PASSES)},
    }
    train, dev = ({side: f"{part}.{{{side}}}" for side in ("source", "target")} for part in ("train", "dev"))
    corpus = {
        "title": f"{folder.name}, {source} to {target}",
        "files": [Checksums().of(folder / name) for name in names],
        "source": source,
        "target": target,
        "train": [train],
        "dev": [dev],
        "tests": {"dev": dev},
    }
    variants = ["auto", *(name for name, variant in plan()["variants"].items() if "peer" in variant)]
    sweep = [{"corpora": [OWN], "budget": {"minutes": one}, "variants": variants} for one in minutes]
    return {**plan(), "peers": sized, "corpora": {OWN: corpus}, "sweep": sweep}


def jobs(
    parallel: Path,
    work: Path,
    *,
    earlier: Mapping[str, dict[str, Any]],
    seed: int = 1,
    planned: Mapping[str, Any] | None = None,
) -> Iterator[Job]:
    """Yield the trainings of the sweep, or of another plan; `earlier` are committed results by key."""
    planned = planned or plan()
    for group in planned["sweep"]:
        for corpus in group["corpora"]:
            described = planned["corpora"][corpus]
            for variant in group["variants"]:
                table = {"seed": seed, **_recipe(planned, corpus, variant, group["budget"])}
                threads = group.get("threads", 1)
                files = [described["files"]] if "files" in described else []
                hashed = json.dumps([_without_auto(table), threads, *files], sort_keys=True)
                key = hashlib.sha256(hashed.encode()).hexdigest()[:12]
                data = {**table["data"], "root": str(parallel)}
                yield Job(
                    corpus,
                    described["title"],
                    list(planned["corpora"]).index(corpus),
                    variant,
                    group["budget"],
                    threads,
                    seed,
                    {**table, "data": data, "training": {**table["training"], "threads": threads}},
                    tuple(_tests(described)),
                    key,
                    work,
                    earlier.get(key),
                )


def _tests(described: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of what a corpus is tested on: of text that is translated in both directions, a name for each."""
    for name, test in described["tests"].items():
        if test.get("both_ways"):
            source, target = described["source"], described["target"]
            yield from (f"{name}, {source} to {target}", f"{name}, {target} to {source}")
        else:
            yield name


def _recipe(planned: Mapping[str, Any], corpus: str, variant: str, budget: Mapping[str, float]) -> dict[str, Any]:
    """Return the recipe of a variant on a corpus; for one that names a recipe, that recipe's own settings."""
    described = planned["variants"][variant]
    given = described.get("recipe", planned["peers" if "peer" in described else "base"])
    base = reduce(merge, tables_of(find_recipe(given))) if isinstance(given, str) else given
    base = {part: base[part] for part in ("text", "model", "training")}
    table = merge(base, described.get("set", {}))
    training = {name: value for name, value in table["training"].items() if name not in BUDGETS} | dict(budget)
    data = merge(_data(planned, corpus), table.get("data", {}))
    peer = {name: described[name] for name in ("peer",) if name in described}
    return {**peer, **table, "training": training, "data": data, "decoding": {"beam": 5}}


def _without_auto(value: Any) -> Any:
    """Return a table without the settings that are `auto`: so a key stays the same when more settings can be."""
    if not isinstance(value, dict):
        return value
    return {name: _without_auto(inner) for name, inner in value.items() if inner != "auto"}


def _data(planned: Mapping[str, Any], corpus: str) -> dict[str, Any]:
    """Return the section `data` of a corpus."""
    described = planned["corpora"][corpus]
    return {
        **{name: described[name] for name in ("source", "target", "train", "dev")},
        "test": list(described["tests"].values()),
        "filters": planned["filters"],
    }


def chosen(all_jobs: Sequence[Job], only: Sequence[str]) -> list[Job]:
    """Return the jobs whose corpus or variant is among `only`, or all."""
    return [job for job in all_jobs if not only or {job.corpus, job.variant} & set(only)]
