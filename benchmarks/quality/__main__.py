"""Train the sweep behind `auto` and write docs/quality.md: `python -m benchmarks.quality --parallel FOLDER`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.quality.page import PAGE, write_page
from benchmarks.quality.plan import chosen, jobs
from benchmarks.schedule import ROOT, work_through

from dragoman.atomic import write_text
from dragoman.errors import DragomanError

RESULTS = ROOT / "docs" / "quality" / "results.json"


def main(arguments: list[str] | None = None) -> int:
    """Train what has no result yet, and add the results; return the exit code."""
    options = _options(arguments)
    known = _known(options.results)
    try:
        wanted = chosen(list(jobs(options.parallel.resolve(), options.work, earlier=known)), options.only)
    except DragomanError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2
    if not options.parallel.is_dir():
        print(f"quality: there is no folder {options.parallel}; give the corpora's with --parallel", file=sys.stderr)
        return 2
    stopped, refused = False, dict[str, str]()
    for threads in sorted({job.threads for job in wanted}):
        part = [job for job in wanted if job.threads == threads]
        at_once = max(options.cores // threads, 1)
        outcome = work_through(part, "benchmarks.quality.job", at_once=at_once, threads=threads, say=_say)
        known |= {result["key"]: result for result in outcome.results}
        refused |= outcome.refused
        if stopped := outcome.stopped:
            break
    for name, sentence in refused.items():
        print(f"quality: {name} has no result: {sentence}", file=sys.stderr)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    write_text(options.results, json.dumps(list(known.values()), indent=1, ensure_ascii=False) + "\n")
    write_page(list(jobs(options.parallel, options.work, earlier={})), known, options.page)
    print(f"Wrote {options.results} and {options.page}")
    return 130 if stopped else 1 if refused else 0


def _say(sentence: str) -> None:
    """Print a sentence at once."""
    print(sentence, flush=True)


def _known(path: Path) -> dict[str, dict[str, Any]]:
    """Return the committed results by key."""
    if not path.exists():
        return {}
    return {result["key"]: result for result in json.loads(path.read_text(encoding="utf-8"))}


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--parallel", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--work", type=Path, default=Path("runs/quality"), help="where trainings are kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these corpora or variants")
    parser.add_argument(
        "--cores", type=int, default=2, help="cores to use: with 2, two trainings of one thread at once"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
