"""Compare Dragoman with other toolkits: `python -m benchmarks.speed` (or `make bench`) measures and writes docs/benchmarks.md."""

import argparse
import sys
from pathlib import Path

from benchmarks.speed.bench import Bench
from benchmarks.speed.children import ROOT
from benchmarks.speed.page import Section, write_page
from benchmarks.speed.parts import growth, profile, quality, recurrent, startup, student, train, translate

from dragoman.errors import DragomanError

PARTS = {
    "train": train,
    "recurrent": recurrent,
    "profile": profile,
    "quality": quality,
    "translate": translate,
    "student": student,
    "startup": startup,
    "growth": growth,
}
"""Modules with a TITLE, `run(bench)`, which measures what has no record yet, and `section(records, pictures)`."""


def main(arguments: list[str] | None = None) -> int:
    """Run the parts asked for, and write the page; return the exit code."""
    options = _options(arguments)
    bench = Bench(
        work=options.work,
        results=options.out,
        data=options.data,
        rounds=options.rounds,
        seconds=options.seconds_per_turn,
        peers=tuple(options.peer),
        again=options.again,
        quick=options.quick,
        minutes=options.minutes,
        own_minutes=tuple(options.own_minutes),
        batch_tokens=options.batch_tokens,
        recipe=options.recipe,
        teacher=options.teacher,
        students=tuple(options.student),
        say=lambda sentence: print(sentence, flush=True),
    )
    sections: dict[str, tuple[str, Section]] = {name: (part.TITLE, part.section) for name, part in PARTS.items()}
    try:
        for name in [] if options.only_page else options.part or PARTS:
            PARTS[name].run(bench)
            write_page(options.page, bench.results, sections)
        write_page(options.page, bench.results, sections)
    except DragomanError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: stopped; call it again to go on", file=sys.stderr)
        return 130
    print(f"Wrote {options.page}")
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--part", nargs="+", default=[], choices=list(PARTS), help="only these parts; by default all")
    parser.add_argument("--data", type=Path, help="folder of Multi30k; without it, pairs are generated")
    parser.add_argument("--rounds", type=int, default=8, help="turns of each peer")
    parser.add_argument("--seconds-per-turn", type=float, default=6.0, help="about so long is one turn")
    parser.add_argument("--minutes", type=float, help="training of each peer in the part quality; by default 30")
    parser.add_argument(
        "--own-minutes", type=float, nargs="+", default=[], help="Dragoman's there; by default a third of it"
    )
    parser.add_argument(
        "--batch-tokens", type=int, help="batches of the peers there; by default those of the part train"
    )
    parser.add_argument("--recipe", default=Bench.recipe, help="Dragoman's recipe there, a file or a name")
    parser.add_argument("--teacher", type=Path, help="a run, for the part student")
    parser.add_argument(
        "--student", type=Path, nargs="+", action="extend", default=[], help="runs that were distilled from it"
    )
    parser.add_argument(
        "--peer", nargs="+", action="extend", default=[], help="only these peers, by the names of their scripts"
    )
    parser.add_argument("--again", action="store_true", help="measure also what is finished, and try what was skipped")
    parser.add_argument("--quick", action="store_true", help="tiny models and batches: does everything run?")
    parser.add_argument("--only-page", action="store_true", help="measure nothing, write the page from the records")
    parser.add_argument("--work", type=Path, default=ROOT / ".bench", help="environments of peers, data, logs")
    parser.add_argument("--out", type=Path, help="where the records go; by default WORK/results")
    parser.add_argument(
        "--page", type=Path, help="by default docs/benchmarks.md, or OUT/benchmarks.md for a quick look"
    )
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.seconds_per_turn <= 0:
        parser.error("--rounds must be at least 1 and --seconds-per-turn above 0")
    options.minutes = options.minutes or (0.2 if options.quick else Bench.minutes)
    if min([options.minutes, *options.own_minutes]) <= 0:
        parser.error("--minutes and --own-minutes must be above 0")
    options.out = options.out or options.work / ("quick" if options.quick else "results")
    options.page = options.page or (options.out if options.quick else ROOT / "docs") / "benchmarks.md"
    return options


if __name__ == "__main__":
    sys.exit(main())
