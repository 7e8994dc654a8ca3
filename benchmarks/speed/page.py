"""The page of benchmarks: a section for each part, written from records alone."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.speed.records import Record, latest, matching, read
from benchmarks.speed.statistics import ratios, spread

from dragoman.atomic import write_text

Section = Callable[[Sequence[Record], Path], list[str]]
"""Writes the lines of a part below its heading, from its records; pictures go into a folder next to the page."""

HEAD = """# Benchmarks

Written by `make bench` (see [benchmarks/speed](../benchmarks/speed)) from what it measured; do not edit by hand. Every number
is the median of interleaved turns, with quartiles in brackets. The speed of machines like this drifts by a factor of two, so
ratios are computed only between turns of the same round of the same session; `-` means that there are none. A matrix product
is timed next to each turn, and MFU is the share of its rate that the model's own arithmetic reaches (padding and recomputation
do not count as work).
"""


def write_page(path: Path, results: Path, sections: Mapping[str, tuple[str, Section]]) -> None:
    """Write the sections of all parts that have records; sections of others stay as the page had them."""
    earlier = _sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    texts = []
    for part, (title, section) in sections.items():
        records = latest(read(results / f"{part}.jsonl"))
        if matching(records, what="about"):
            body = ["Nothing was measured.", ""]
            if matching(records, what="turn"):
                body = section(records, path.with_suffix(""))
            lines = [f"## {title}", "", *body, *circumstances(records), *skipped(records)]
            texts.append(_mark(part) + "\n".join(lines).rstrip() + "\n")
        elif part in earlier:
            texts.append(earlier[part])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "\n".join([HEAD, *texts]))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, with a blank one after it; columns but the first are aligned to the right.

    >>> table(["a", "b"], [["x", "1"]])
    ['| a | b |', '| --- | ---: |', '| x | 1 |', '']
    """
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *rows]
    return [*(f"| {' | '.join(cells)} |" for cells in lines), ""]


def circumstances(records: Sequence[Record]) -> list[str]:
    """Describe the machine, time and versions of the latest session of a part."""
    about = matching(records, what="about")
    now = about[-1]
    sittings = f", in {len(about)} sessions" if len(about) > 1 else ""
    versions = {
        f"{name} {version}"
        for record in matching(records, what="loaded")
        for name, version in record.get("versions", {}).items()
        if name not in ("machine", "python", "dragoman")
    }
    named = f" Versions: {', '.join(sorted(versions, key=str.lower))}." if versions else ""
    return [
        f"Machine: {now['machine']}, {now['threads']} threads. Commit {now['commit']}, Python {now['python']}, torch "
        f"{now['torch']}, {now['time']}{sittings}.{named}",
        "",
    ]


def skipped(records: Sequence[Record]) -> list[str]:
    """Say what is missing, and why."""
    last = {record["contestant"]: record for record in records if record["what"] in ("loaded", "skipped")}
    lines = [
        f"- {record['title']} was skipped: {_plain(record['reason'])}"
        for record in last.values()
        if record["what"] == "skipped"
    ]
    return [*lines, ""] if lines else []


def turns(records: Sequence[Record]) -> dict[str, dict[tuple[int, int], Record]]:
    """Return the turns of each contestant by session and round; for a repeated round, the newest."""
    newest: dict[str, dict[int, Record]] = {}
    for record in matching(records, what="turn"):
        newest.setdefault(record["contestant"], {})[record["round"]] = record
    return {
        name: {(record.get("sitting", 0), number): record for number, record in rounds.items()}
        for name, rounds in newest.items()
    }


def compare(speeds: Mapping[str, Mapping[tuple[int, int], float]], one: str, other: str | None) -> str:
    """Return the spread of the ratios of two contestants' speeds over their common rounds."""
    if other is None or other not in speeds or one not in speeds:
        return "-"
    found = ratios(speeds[one], speeds[other])
    return f"{spread(found):.2f}" if found else "-"


def memory(records: Iterable[Record]) -> str:
    """Return the most memory in MB, where the system says it."""
    known = [record["memory"] for record in records if record.get("memory")]
    return f"{max(known) / 1e6:,.0f}" if known else "-"


def _sections(text: str) -> dict[str, str]:
    """Cut a page into the sections of its parts."""
    pieces = re.split(r"^<!-- part: (\w+) -->\n", text, flags=re.MULTILINE)[1:]
    return {part: _mark(part) + body.rstrip() + "\n" for part, body in zip(pieces[::2], pieces[1::2], strict=True)}


def _mark(part: str) -> str:
    """Return the line that a section begins with, by which the next writing finds it."""
    return f"<!-- part: {part} -->\n"


def _plain(reason: str) -> str:
    """Return a reason without what would be an accident in Markdown or tell of folders of this machine."""
    return re.sub(r"(/[\w.+-]+){2,}/", "", reason).replace("|", "/").replace("\n", " ")
