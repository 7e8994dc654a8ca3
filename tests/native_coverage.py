"""Which lines of the C++ parts a test run reached: `python tests/native_coverage.py FOLDER`, called by `make coverage`.

FOLDER holds what a compiler with `--coverage` left: notes of what it compiled, and counts of what ran.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "dragoman" / "native"
LEAST = 99.4
"""Share of lines, in percent, below which this fails."""

Counts = dict[str, dict[int, int]]
"""How often each line ran, by file."""


def counted(folder: Path) -> Counts:
    """Return how often each line of the sources ran, added up over the libraries that hold it."""
    counts: Counts = defaultdict(lambda: defaultdict(int))
    for notes in sorted(folder.glob("*.gcno")):
        command = ["gcov", "--json-format", "--stdout", "--object-directory", str(folder), str(notes)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        for report in done.stdout.splitlines():
            for file in json.loads(report)["files"]:
                path = Path(file["file"])
                if path.parent.resolve() == SOURCES.resolve():
                    for line in file["lines"]:
                        counts[path.name][line["line_number"]] += line["count"]
    return counts


def table(counts: Mapping[str, Mapping[int, int]]) -> Iterable[str]:
    """Yield a line for each file that was not reached whole: lines, lines missed, share, which ones."""
    yield f"{'C++':20} {'lines':>6} {'missed':>7} {'share':>6}"
    for name, lines in sorted(counts.items()):
        missed = sorted(number for number, count in lines.items() if count == 0)
        if missed:
            yield f"{name:20} {len(lines):6} {len(missed):7} {share(lines.values()):5.1f}%  {', '.join(map(str, missed))}"


def share(counts: Iterable[int]) -> float:
    """Return how many of the lines ran, in percent.

    >>> share([3, 0, 1, 0])
    50.0
    """
    given = list(counts)
    return 100 * sum(count > 0 for count in given) / len(given) if given else 0.0


def main() -> None:
    """Print the table; leave with 2 where too little was reached, or nothing was compiled."""
    counts = counted(Path(sys.argv[1]))
    reached = share(count for lines in counts.values() for count in lines.values())
    print(*table(counts), f"C++: {reached:.1f}% of lines were reached; at least {LEAST:g}% must be.", sep="\n")
    sys.exit(0 if counts and reached >= LEAST else 2)


if __name__ == "__main__":
    main()
