"""How surely shifts of parallel text are found: random lines are taken out of real corpora, and the doctor has to say where.

    python -m benchmarks.doctor FOLDER [--trials N] [--seed N] [--corpus NAME] [--pairs N]

Below FOLDER, files of one name with two-letter suffixes are parallel (`train.en`, `train.fr`), compressed or not, and so are the
first two columns of `*.tsv`; English is one side. Each trial takes 1 to 5 lines out of one side at a random place, or out of
both sides at different ones, so that the counts are equal again, or at two places more. Places are at least 50 lines from
one another and from the ends. A trial is found if at most 3 lines in a row have a wrong offset; a line whose partner was taken
out may have any, and so may one that is beside a translation of it all the same, because the text repeats itself. With --pairs,
the time for so many pairs is measured, on all corpora one after another, repeated where they are too few.
"""

import argparse
import itertools
import random
import re
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.data.lines import read_lines
from dragoman.doctor.shifts import Shift, ShiftDetector, ShiftReport, find_shifts

ROOM = 50
"""Least lines between two places, and between a place and an end."""
SMALLEST = 300
"""Corpora of fewer lines are only looked at as they are."""
TOLERATED = 3
"""Most lines by which a border may be off."""
NO_LANGUAGES = frozenset({"wa", "md", "py"})
"""Suffixes of two letters that do not stand for a language here."""


@dataclass(frozen=True)
class Corpus:
    """Parallel lines."""

    name: str
    sources: list[str]
    targets: list[str]


@dataclass(frozen=True)
class Damaged:
    """Parallel lines of which some have been taken out, and what is left to find."""

    sources: list[str]
    targets: list[str]
    offsets: list[int | None]
    """Of each source line; None for one whose partner is gone."""


def corpora(folder: Path, name: str = "") -> Iterator[Corpus]:
    """Read every parallel corpus below a folder whose name contains `name`."""
    parts: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.rglob("*")):
        known = re.fullmatch(r"(.+?)\.([a-z]{2})(\.gz|\.xz|\.zst)?", path.name)
        if known and known[2] not in NO_LANGUAGES:
            parts.setdefault(f"{path.parent.relative_to(folder)}/{known[1]}", {})[known[2]] = path
        if re.search(r"\.tsv(\.gz|\.xz|\.zst)?$", path.name) and name in str(path):
            rows = [line.split("\t") for line in read_lines(path)]
            yield Corpus(str(path.relative_to(folder)), [row[0] for row in rows], [row[1] for row in rows])
    for stem, languages in parts.items():
        for other in sorted(languages.keys() - {"en"}):
            label = f"{stem} en-{other}"
            if "en" in languages and name in label:
                yield Corpus(label, *(list(read_lines(languages[one])) for one in ("en", other)))


def damage(corpus: Corpus, chance: random.Random) -> Damaged:
    """Take lines out at random places."""
    lines = len(corpus.sources)
    lost: tuple[set[int], set[int]] = set(), set()
    kind = chance.choice(("one", "compensated", "several"))
    places = _places(lines, {"one": 1, "compensated": 2, "several": 3}[kind], chance)
    side, count = chance.randrange(2), chance.randint(1, 5)
    for place in places:
        if kind == "several":
            side, count = chance.randrange(2), chance.randint(1, 5)
        lost[side].update(range(place, place + count))
        side = 1 - side if kind == "compensated" else side
    sources, targets = ([line for line in range(lines) if line not in gone] for gone in lost)
    where = {line: at for at, line in enumerate(targets)}
    offsets = [where[line] - at if line in where else None for at, line in enumerate(sources)]
    return Damaged([corpus.sources[line] for line in sources], [corpus.targets[line] for line in targets], offsets)


def _places(lines: int, count: int, chance: random.Random) -> list[int]:
    """Return places far enough from one another."""
    free = lines - (count + 1) * ROOM
    return [place + ROOM * (number + 1) for number, place in enumerate(sorted(chance.choices(range(free), k=count)))]


def wrong_lines(damaged: Damaged, shifts: Sequence[Shift], pairs: Container[tuple[str, str]] = ()) -> list[int]:
    """Return the length of each run of lines with a wrong offset; lines without partner are not counted, and end no run.

    Where a text repeats itself, a line may have several partners: an offset is right if it leads to one of `pairs`.
    """
    found = [0] * len(damaged.offsets)
    for shift in shifts:
        lines = range(shift.first_line - 1, shift.last_line)
        found[lines.start : lines.stop] = [shift.offset] * len(lines)
    right = []
    for line, (offset, said) in enumerate(zip(damaged.offsets, found, strict=True)):
        partner = line + said
        known = 0 <= partner < len(damaged.targets)
        same = known and (damaged.sources[line], damaged.targets[partner]) in pairs
        right += [] if offset is None else [said == offset or same]
    return [len(list(run)) for good, run in itertools.groupby(right) if not good]


def look(sources: Sequence[str], targets: Sequence[str]) -> ShiftReport:
    """Return all that is said of two texts."""
    detector = ShiftDetector()
    detector.add(sources, targets)
    return detector.finish()


def measure(corpus: Corpus, trials: int, chance: random.Random) -> str:
    """Return a row of the table."""
    begin = time.process_time()
    clean = look(corpus.sources, corpus.targets)
    seconds = time.process_time() - begin
    found, worst = 0, 0
    pairs = set(zip(corpus.sources, corpus.targets, strict=True))
    trials = trials if len(corpus.sources) >= SMALLEST else 0
    for _ in range(trials):
        damaged = damage(corpus, chance)
        shifts = find_shifts(damaged.sources, damaged.targets)
        wrong = max(wrong_lines(damaged, shifts, pairs), default=0)
        found += wrong <= TOLERATED
        worst = max(worst, wrong)
    said = f"{len(clean.shifts)} + {len(clean.misfits)}"
    cells = (corpus.name, f"{len(corpus.sources):,}", f"{clean.fit:.1f}", said, trials, found, worst, f"{seconds:.1f}")
    return f"| {' | '.join(map(str, cells))} |"


def speed(folder: Path, pairs: int) -> float:
    """Return the seconds for so many pairs."""
    every = [corpus for corpus in corpora(folder) if len(corpus.sources) >= SMALLEST]
    endless = itertools.cycle(pair for corpus in every for pair in zip(corpus.sources, corpus.targets, strict=True))
    rows = list(itertools.islice(endless, pairs))
    detector = ShiftDetector()
    begin = time.process_time()
    for chunk in itertools.batched(rows, 10_000) if hasattr(itertools, "batched") else [rows]:
        detector.add([source for source, _ in chunk], [target for _, target in chunk])
    detector.finish()
    return time.process_time() - begin


def main() -> None:
    """Measure, and print a table, a row per corpus."""
    parser = argparse.ArgumentParser(description="Random shifts of real corpora.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=200, help="in all, spread evenly over the corpora")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", default="", help="only corpora whose name contains this")
    parser.add_argument("--pairs", type=int, help="measure the time for so many pairs instead")
    options = parser.parse_args()
    if options.pairs:
        print(f"{options.pairs:,} pairs: {speed(options.folder, options.pairs):.1f} seconds")
        return
    every = list(corpora(options.folder, options.corpus))
    chance = random.Random(options.seed)
    tested = sum(len(corpus.sources) >= SMALLEST for corpus in every)
    print("| corpus | lines | fit | said of it: shifts + misfits | trials | found | worst error | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for corpus in every:
        print(measure(corpus, -(-options.trials // max(tested, 1)), chance), flush=True)


if __name__ == "__main__":
    main()
