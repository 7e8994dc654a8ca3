"""What adaptation gains and loses on real text: a base is trained, then adapted to talks by each method.

    python -m benchmarks.adapt TATOEBA TALKS WORK [--minutes N] [--cores 0 1] [--variant NAME=SETTING ...] [--write]

TATOEBA is a file of everyday sentences, `tatoeba.tsv.gz`, English and French. TALKS is a folder with the dev sets of IWSLT
2017 (`dev2010.raw.en`, `tst2010.raw.en` and so on, and the same in French). The base is a Transformer of the recipe
`own-files` with 20 minutes on the everyday sentences, of which one in 100 is kept for dev and one for test, with all its
translations. The domain is the talks of 2010 to 2012, whose last 700 pairs are its dev set, and its test set the talks of
2013. WORK keeps the runs, and those that are finished are not made again. Each adaptation is bound to one of the cores with
one thread, so that as many run at once as there are cores. With --write the table goes into docs/adapt.md.
"""

import argparse
import gzip
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from benchmarks.command import dragoman, resume_option, set_options
from benchmarks.pages import replace_between
from benchmarks.schedule import ROOT

from dragoman.atomic import write_text
from dragoman.jobs.verdict import FILE
from dragoman.machine.provenance import commit, machine

LEARN = ("dev2010.raw", "tst2010.raw", "tst2011.raw", "tst2012.raw")
TEST = "tst2013.raw"
DEV_PAIRS = 700
HELD_OUT = 100
BASE_MINUTES = 20
METHODS = ("full", "frozen-embeddings", "adapters")
PAGE = ROOT / "docs" / "adapt.md"
MARKS = ("<!-- measured by benchmarks.adapt -->", "<!-- end -->")


@dataclass(frozen=True)
class Row:
    """One adaptation: BLEU before and after, with the interval of the difference, and what it cost."""

    name: str
    domain: Mapping[str, float]
    general: Mapping[str, float]
    minutes: float
    memory: int
    size: int

    def __str__(self) -> str:
        cells = (self.name, _change(self.domain), _change(self.general), f"{self.minutes:.1f}")
        return f"| {' | '.join(cells)} | {self.memory / 1e6:,.0f} | {self.size / 1e6:.1f} |"


def lay_out(talks: Path, folder: Path) -> None:
    """Write the domain's train, dev and test files."""
    folder.mkdir(parents=True, exist_ok=True)
    for language in ("en", "fr"):
        lines = [line for name in LEARN for line in _lines(talks / f"{name}.{language}")]
        write_text(folder / f"train.{language}", "\n".join(lines[:-DEV_PAIRS]) + "\n")
        write_text(folder / f"dev.{language}", "\n".join(lines[-DEV_PAIRS:]) + "\n")
        write_text(folder / f"test.{language}", "\n".join(_lines(talks / f"{TEST}.{language}")) + "\n")


def lay_out_general(tatoeba: Path, folder: Path) -> None:
    """Write train, dev and test files of everyday sentences; a side of dev or test is in no pair of train."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[tuple[str, str]]] = {"dev": [], "test": [], "train": []}
    with gzip.open(tatoeba, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            source, target = line.rstrip("\n").split("\t")[:2]
            digest = int.from_bytes(hashlib.sha256(source.encode()).digest()[:8])
            parts[{0: "dev", 1: "test"}.get(digest % HELD_OUT, "train")].append((source, target))
    held = {side for name in ("dev", "test") for pair in parts[name] for side in pair}
    parts["train"] = [pair for pair in parts["train"] if not held & set(pair)]
    for name, pairs in parts.items():
        for language, sentences in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
            write_text(folder / f"{name}.{language}", "\n".join(sentences) + "\n")


def row(name: str, folder: Path) -> Row:
    """Read what an adaptation has written."""
    verdict = json.loads((folder / FILE).read_text(encoding="utf-8"))
    cost = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["cost"]
    size = (folder / "model.safetensors").stat().st_size
    return Row(name, verdict["domain"], verdict["general"], cost["seconds"] / 60, cost["peak_memory"], size)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| method | domain, BLEU | general, BLEU | minutes | peak memory, MB | weights, MB |"
    yield "| --- | --- | --- | ---: | ---: | ---: |"
    yield from map(str, rows)


def _lines(path: Path) -> list[str]:
    """Read the lines of a file, which end at line feeds alone."""
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def _change(change: Mapping[str, float]) -> str:
    """Return a difference of BLEU."""
    before, after, difference, low, high = (change[name] for name in ("before", "after", "difference", "low", "high"))
    return f"{before:.1f} → {after:.1f}: {difference:+z.1f} ({low:+z.1f} to {high:+z.1f})"


def _adapt(options: argparse.Namespace, name: str, settings: Sequence[str], cores: "Queue[int]") -> Row:
    """Adapt the base on a free core, unless that is done."""
    folder, core = options.work / name, cores.get()
    try:
        if not (folder / FILE).exists():
            about = ["--data", str(options.work / "talks"), "--out", str(folder), "--minutes", str(options.minutes)]
            log = options.work / f"{name}.log"
            dragoman("adapt", str(options.work / "base"), *about, *settings, *resume_option(folder), log=log, core=core)
    finally:
        cores.put(core)
    done = row(name, folder)
    print(done, file=sys.stderr, flush=True)
    return done


def _train_base(options: argparse.Namespace) -> None:
    """Train the base, unless that is done."""
    folder = options.work / "base"
    if (folder / "model.safetensors").exists() and not (folder / "training").exists():
        return
    general = options.work / "general"
    lay_out_general(options.tatoeba, general)
    test = "data.test=[{source: 'test.{source}', target: 'test.{target}'}]"
    given = [f"data.root={general.absolute()}", test, "model.kind=transformer", f"training.minutes={BASE_MINUTES}"]
    dragoman(
        "train",
        "own-files",
        *set_options(*given),
        "--out",
        str(folder),
        *resume_option(folder),
        log=options.work / "base.log",
    )


def main() -> None:
    """Train, adapt, and print or write the table."""
    parser = argparse.ArgumentParser(description="Adaptation on real text.")
    parser.add_argument("tatoeba", type=Path)
    parser.add_argument("talks", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--cores", type=int, nargs="+", default=[0, 1])
    parser.add_argument(
        "--variant", action="append", default=[], help="NAME=OPTIONS of `dragoman adapt`, instead of all methods"
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/adapt.md")
    options = parser.parse_args()
    lay_out(options.talks, options.work / "talks")
    _train_base(options)
    wanted = {name: ["--method", name] for name in METHODS}
    if options.variant:
        wanted = {name: given.split() for name, _, given in (one.partition("=") for one in options.variant)}
    cores: Queue[int] = Queue()
    for core in options.cores:
        cores.put(core)
    begin = time.monotonic()
    with ThreadPoolExecutor(len(options.cores)) as pool:
        rows = list(pool.map(lambda one: _adapt(options, one[0], one[1], cores), wanted.items()))
    text = "\n".join([*table(rows), "", f"{machine()}, commit `{commit()}`."])
    print(f"{text}\n{(time.monotonic() - begin) / 60:.0f} minutes in all")
    if options.write:
        replace_between(PAGE, MARKS, text)


if __name__ == "__main__":
    main()
