"""Make the atlas of attention: `python -m benchmarks.atlas` trains every kind and writes docs/atlas (also: make atlas)."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.atlas.agreed import ROOT
from benchmarks.atlas.corpora import Corpus, evbnews, phrasebook
from benchmarks.atlas.kinds import chosen, plan, takes_part
from benchmarks.atlas.pages import write_pages
from benchmarks.atlas.schedule import Job, jobs, pairs_file, seeds_of
from benchmarks.schedule import work_through

from dragoman.errors import DragomanError

QUICK: dict[str, dict[str, Any]] = {
    "phrasebook": {"train": 300, "choose": 10, "measure": 10},
    "evbnews": {"train": 200, "words": (4, 10)},
}
QUICK_STEPS = 4


def main(arguments: list[str] | None = None) -> int:
    """Train what is not trained yet, then write the pages; return the exit code."""
    options = _options(arguments)
    try:
        slices, skipped = _slices(options)
        wanted = _wanted(options, slices)
    except DragomanError as error:
        print(f"atlas: {error}", file=sys.stderr)
        return 2
    outcome = work_through(
        wanted, "benchmarks.atlas.job", at_once=options.jobs, say=lambda sentence: print(sentence, flush=True)
    )
    for name, sentence in outcome.refused.items():
        print(f"atlas: {name} has no result: {sentence}", file=sys.stderr)
    if outcome.stopped:
        print("Call it again to go on.", file=sys.stderr)
        return 130
    refused = {job.kind: outcome.refused[job.name] for job in wanted if job.name in outcome.refused}
    about = {"quick": options.quick or options.steps is not None, "skipped": skipped, "refused": refused}
    write_pages(options.out, outcome.results, about)
    print(f"Wrote {options.out / 'README.md'}")
    return 1 if outcome.refused else 0


def _slices(options: argparse.Namespace) -> tuple[dict[str, Corpus], dict[str, str]]:
    """Make the corpora, and say why one is skipped."""
    work: Path = options.work
    sizes = {name: QUICK[name] if options.quick else corpus["slice"] for name, corpus in plan()["corpora"].items()}
    slices = {"phrasebook": phrasebook(**sizes["phrasebook"])}
    skipped = {}
    if options.evbnews is None:
        skipped["evbnews"] = "its folder was not given: add `EVBNEWS=folder` to `make atlas`, or `--evbnews`"
    else:
        slices["evbnews"] = evbnews(options.evbnews, work / "evbnews", **sizes["evbnews"])
    for name, corpus in slices.items():
        (work / name).mkdir(parents=True, exist_ok=True)
        corpus.save(pairs_file(work / name))
    for name, reason in skipped.items():
        print(f"Skipping {plan()['corpora'][name]['title']}: {reason}")
    return slices, skipped


def _wanted(options: argparse.Namespace, slices: dict[str, Corpus]) -> list[Job]:
    """List the trainings: the first seed of every kind on every corpus comes before the other seeds."""
    steps = options.steps or (QUICK_STEPS if options.quick else None)
    earlier = _earlier(options.out)
    found = [
        job
        for kind in chosen(options.only)
        for name, corpus in slices.items()
        if takes_part(kind, name)
        for job in jobs(
            kind,
            name,
            corpus,
            options.work / name,
            seeds=seeds_of(name, options.quick),
            steps=steps,
            earlier=earlier,
        )
    ]
    return sorted(found, key=lambda job: seeds_of(job.corpus, False).index(job.seed))


def _earlier(out: Path) -> dict[str, dict[str, Any]]:
    """Return the results that the pages there were made from, by key, so that an atlas may take several sittings."""
    try:
        table = json.loads((out / "results.json").read_text(encoding="utf-8"))
        return {result["key"]: result for result in table["results"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.atlas", description=__doc__)
    parser.add_argument("--evbnews", type=Path, help="folder of EVBNews; without it the phrasebook alone")
    parser.add_argument("--work", type=Path, default=Path("runs/atlas"), help="where trainings and results are kept")
    parser.add_argument(
        "--out", type=Path, help="where the pages go: docs/atlas, or WORK/pages for a part or a quick look"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="KIND", help="only these kinds")
    parser.add_argument("--steps", type=int, help="train so many steps, for a try")
    parser.add_argument("--quick", action="store_true", help="a few steps on a few pairs: does everything run?")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at once, of one thread each")
    options = parser.parse_args(arguments)
    options.work = options.work.resolve()
    if (options.steps is not None and options.steps < 1) or options.jobs < 1:
        parser.error("--steps and --jobs must be at least 1")
    if options.out is None:
        part = options.quick or options.steps or options.only
        options.out = options.work / "pages" if part else ROOT / "docs" / "atlas"
    return options


if __name__ == "__main__":
    sys.exit(main())
