"""Train the sweep behind `auto` and write docs/quality/results.json: `python -m benchmarks.quality --parallel FOLDER`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

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
        missing = [path for path in {options.parallel} if not path.is_dir()]
    except DragomanError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2
    if missing:
        print(
            f"quality: there is no folder {missing[0]}; give the folder of the corpora with --parallel", file=sys.stderr
        )
        return 2
    say = lambda sentence: print(sentence, flush=True)  # noqa: E731
    threads = max((job.threads for job in wanted), default=1)
    outcome = work_through(wanted, "benchmarks.quality.job", at_once=options.jobs, threads=threads, say=say)
    for name, sentence in outcome.refused.items():
        print(f"quality: {name} has no result: {sentence}", file=sys.stderr)
    known |= {result["key"]: result for result in outcome.results}
    options.results.parent.mkdir(parents=True, exist_ok=True)
    write_text(options.results, json.dumps(list(known.values()), indent=1, ensure_ascii=False) + "\n")
    print(f"Wrote {options.results}")
    return 130 if outcome.stopped else 1 if outcome.refused else 0


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
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these corpora or variants")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at once")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
