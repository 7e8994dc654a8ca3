"""Train the sweep behind `auto` and write docs/quality.md: `python -m benchmarks.quality --parallel FOLDER`.

With `--files FOLDER --from en --to vi`, `auto` and other toolkits are compared on one's own files instead, laid out as for the
recipe own-files.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.quality.page import OF_OWN_FILES, PAGE, write_page
from benchmarks.quality.plan import chosen, jobs, own_plan
from benchmarks.schedule import ROOT, work_through

from dragoman.atomic import write_text
from dragoman.errors import DragomanError

RESULTS = ROOT / "docs" / "quality" / "results.json"


def main(arguments: list[str] | None = None) -> int:
    """Train what has no result yet, and add the results; return the exit code."""
    options = _options(arguments)
    known = _known(options.results)
    own = options.files is not None
    folder = (options.files if own else options.parallel).resolve()
    try:
        planned = own_plan(folder, options.source, options.target, options.minutes) if own else None
        wanted = chosen(list(jobs(folder, options.work, earlier=known, planned=planned)), options.only)
    except DragomanError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2
    if not folder.is_dir():
        print(f"quality: there is no folder {folder}; give the corpora's with --parallel", file=sys.stderr)
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
    shown = list(jobs(folder, options.work, earlier={}, planned=planned))
    write_page(shown, known, options.page, words=OF_OWN_FILES if own else None)
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
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--parallel", type=Path, help="folder of the corpora of the sweep")
    given.add_argument("--files", type=Path, help="folder with train.SOURCE, train.TARGET, dev.SOURCE and dev.TARGET")
    parser.add_argument("--from", dest="source", metavar="SOURCE", help="with --files: code of the source language")
    parser.add_argument("--to", dest="target", metavar="TARGET", help="with --files: code of the target language")
    parser.add_argument("--minutes", type=float, nargs="+", metavar="N", help="with --files: times to train (15 30 60)")
    parser.add_argument("--work", type=Path, default=Path("runs/quality"), help="where trainings are kept")
    parser.add_argument("--results", type=Path, help="the file of results; with --files by default WORK/own.json")
    parser.add_argument("--page", type=Path, help="the page; with --files by default WORK/own.md")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these corpora or variants")
    parser.add_argument(
        "--cores", type=int, default=2, help="cores to use: with 2, two trainings of one thread at once"
    )
    options = parser.parse_args(arguments)
    own = options.files is not None
    if own and None in (options.source, options.target):
        parser.error("--files needs the languages too; give --from and --to")
    if not own and (options.source, options.target, options.minutes) != (None, None, None):
        parser.error("--from, --to and --minutes are for --files; remove them")
    options.minutes = options.minutes or [15.0, 30.0, 60.0]
    if min(options.minutes) <= 0:
        parser.error("--minutes must be above 0")
    options.results = options.results or (options.work / "own.json" if own else RESULTS)
    options.page = options.page or (options.work / "own.md" if own else PAGE)
    return options


if __name__ == "__main__":
    sys.exit(main())
