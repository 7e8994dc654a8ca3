"""Write docs/quality.md from the plan of the sweep and its results."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.picture import compared, draw
from benchmarks.quality.plan import HERE, Job
from benchmarks.schedule import ROOT

from dragoman.atomic import write_text

PAGE = ROOT / "docs" / "quality.md"


OF_OWN_FILES = """# Quality beside other toolkits

BLEU on the dev text, which also chose the best weights, after so many minutes on one core, with plain beam search. Other toolkits
have 3+3 layers of 192 and Adam, with a vocabulary and a dropout that fit the files; docs/quality.md says more.

{expected}
"""
"""Words of the page about one's own files."""


def write_page(
    jobs: Sequence[Job], results: Mapping[str, Mapping[str, Any]], path: Path = PAGE, *, words: str | None = None
) -> None:
    """Write the page: words, by default those of `words.md`, then a table for each corpus and budget that has results."""
    words = ((HERE / "words.md").read_text(encoding="utf-8") if words is None else words).rstrip()
    words = words.replace("{expected}", "\n".join(expected(jobs, results)))
    lines = [words, "", *pictures(jobs, results, path.with_suffix("")), *tables(jobs, results)]
    write_text(path, "\n".join(lines).rstrip() + "\n")


def expected(jobs: Sequence[Job], results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of what `auto` reaches on one core: a row for each text translated, a column for each time.

    Where some results are in bfloat16 and others in float32, the latter have a star.
    """
    scores: dict[tuple[int, str, str], dict[float, str]] = {}
    chosen = [job for job in jobs if job.key in results and (job.variant, job.threads) == ("auto", 1)]
    chosen = [job for job in chosen if "minutes" in job.budget]
    mixed = len({results[job.key]["precision"] for job in chosen}) > 1
    for job in chosen:
        star = " \\*" if mixed and results[job.key]["precision"] == "float32" else ""
        for test, score in results[job.key]["bleu"].items():
            scores.setdefault((job.number, job.title, test), {})[job.budget["minutes"]] = f"{score:.1f}{star}"
    times = sorted({minutes for found in scores.values() for minutes in found})
    if not times:
        return
    yield "| trained on | translated | " + " | ".join(f"{minutes:g} minutes" for minutes in times) + " |"
    yield "| --- | --- |" + " ---: |" * len(times)
    for (_, title, test), found in sorted(scores.items(), key=lambda one: one[0][0]):
        cells = (found.get(minutes, "") for minutes in times)
        yield f"| {title} | {test} | " + " | ".join(cells) + " |"


def pictures(jobs: Sequence[Job], results: Mapping[str, Mapping[str, Any]], folder: Path) -> Iterator[str]:
    """Draw `auto` beside other toolkits, and yield the lines that show it."""
    titles = {job.corpus: job.title for job in jobs}
    for corpus, points in compared(jobs, results).items():
        draw(points, folder / f"{corpus}.png")
        title = titles[corpus]
        yield f"![BLEU against minutes of a core: auto and other toolkits, {title}]({folder.name}/{corpus}.png)"
        yield ""


def tables(jobs: Sequence[Job], results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of all tables, the best variant of each first."""
    groups: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for job in jobs:
        if job.key in results:
            groups.setdefault((job.title, amount(job.budget), job.threads), []).append(results[job.key])
    for (title, budget, threads), found in groups.items():
        cores = "one core" if threads == 1 else f"{threads} cores"
        names = list(found[0]["bleu"])
        yield f"## {title}: {budget}, {cores}"
        yield ""
        yield (
            "| variant | "
            + " | ".join(f"BLEU {name}" for name in names)
            + " | chrF | passes | million tokens | seconds | commit | on |"
        )
        yield "| --- |" + " ---: |" * (len(names) + 4) + " --- | --- |"
        for result in sorted(found, key=mean_bleu, reverse=True):
            scores = " | ".join(f"{result['bleu'][name]:.1f}" for name in names)
            chrf = sum(result["chrf"].values()) / len(result["chrf"])
            yield (
                f"| {result['variant']} | {scores} | {chrf:.1f} | {result['epochs'] or 0:.1f} | {result['tokens'] / 1e6:.2f} | "
                f"{result['seconds']:,.0f} | {result['commit'] or 'unknown'} | {machine(result)} |"
            )
        yield ""


def amount(budget: Mapping[str, float]) -> str:
    """Describe a budget.

    >>> amount({"tokens": 3600000}), amount({"minutes": 10})
    ('3.6 million target tokens', '10 minutes')
    """
    ((unit, value),) = budget.items()
    return f"{value / 1e6:g} million target tokens" if unit == "tokens" else f"{value:g} {unit}"


def machine(result: Mapping[str, Any]) -> str:
    """Name the processor and the precision of a result.

    >>> machine({"machine": "Intel(R) Xeon(R) Processor, 2 cores, Linux", "precision": "float32"})
    'Intel Xeon, float32'
    """
    processor = result["machine"].partition(",")[0].replace("(R)", "").removesuffix(" Processor")
    return f"{processor}, {result['precision']}"


def mean_bleu(result: Mapping[str, Any]) -> float:
    """Return the mean over the corpora that were tested."""
    return float(sum(result["bleu"].values()) / len(result["bleu"]))
