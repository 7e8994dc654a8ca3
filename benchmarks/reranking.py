"""What another choice among the hypotheses gains on real text, and what it costs.

    python -m benchmarks.reranking RUN WORK --rerank RUN [--rerank RUN ...] --test NAME SOURCE REFERENCE [--test ...]
        [--first N] [--penalty 1.2] [--core N] [--no-mbr] [--write SECTION]

The odd lines of each test set (of the first N) tune the weights, and the even ones are measured: a wider beam, minimum Bayes
risk, each run that reranks alone, and all of them together, beside the beam of RUN's own recipe, all with the same length
penalty. Differences have a 95 % interval (paired bootstrap). WORK keeps all translations of RUN; those that are there
are not made again. With --write the tables go into that section of docs/reranking.md.
"""

import argparse
import json
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.command import bind_to, dragoman, set_options
from benchmarks.pages import replace_between
from benchmarks.schedule import ROOT

from dragoman.atomic import write_text
from dragoman.data.lines import read_lines
from dragoman.jobs.tune import tune
from dragoman.machine.provenance import commit, machine
from dragoman.metrics.scores import bleu, chrf
from dragoman.metrics.significance import Metric, score_difference
from dragoman.runs.folder import open_run

PAGE = ROOT / "docs" / "reranking.md"
SECTIONS = ("news", "german", "french")
"""Parts of the page, each with tables of its own."""
WIDE = 10
"""Hypotheses of which a reranker chooses."""
FILE = "translations.json"
METRICS: tuple[Metric, ...] = ("bleu", "chrf")


@dataclass(frozen=True)
class Corpus:
    """A test set, of which one half tunes and the other is measured."""

    name: str
    sources: Sequence[str]
    references: Sequence[str]

    def half(self, first: int) -> "Corpus":
        """Return every other line, from the first or the second on."""
        return Corpus(self.name, self.sources[first::2], self.references[first::2])


@dataclass(frozen=True)
class Search:
    """A way to choose a translation, as options of `dragoman translate`."""

    name: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bench:
    """The run, its length penalty, and where its translations are kept."""

    run: Path
    work: Path
    penalty: float
    core: int | None = None
    risk: bool = True
    """Whether minimum Bayes risk is measured too."""

    def weights(self, corpus: Corpus, rerankers: Sequence[Path]) -> list[float]:
        """Return the weights that are best on a corpus, found once."""

        def found() -> list[float]:
            decoding = {"beam": WIDE, "length_penalty": self.penalty}
            best = tune([self.run], rerankers, corpus.sources, references=[corpus.references], decoding=decoding)
            return list(best.weights)

        return list(self._kept(f"{corpus.name}, weights of {_names(rerankers)}", found))

    def translated(self, corpus: Corpus, search: Search) -> tuple[list[str], float]:
        """Return the translations of a corpus, and the seconds of a processor that they took."""

        def found() -> tuple[list[str], float]:
            penalty = set_options(f"length_penalty={self.penalty}")
            begin = _processor_seconds()
            out = dragoman(
                "translate",
                str(self.run),
                *penalty,
                *search.options,
                core=self.core,
                text="\n".join(corpus.sources) + "\n",
            )
            return out.removesuffix("\n").split("\n"), _processor_seconds() - begin

        translations, seconds = self._kept(f"{corpus.name}, {len(corpus.sources)}, {search}", found)
        return translations, seconds

    def _kept(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what the file of this run and penalty has under a name, or make it and add it."""
        path = self.work / FILE
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        key = f"{open_run(self.run).manifest['identity']}, {self.penalty}, {name}"
        if key not in kept:
            kept[key] = make()
            write_text(path, json.dumps(kept, ensure_ascii=False, indent=1))
        return kept[key]


def searches(bench: Bench, tuning: Corpus, rerankers: Sequence[Path]) -> Iterator[Search]:
    """Yield the ways to choose, the beam of the recipe first."""
    wide = ("--beam", str(WIDE))
    yield Search("beam of the recipe")
    yield Search(f"`--beam {WIDE}`", wide)
    for utility in ("chrf", "bleu") if bench.risk else ():
        yield Search(f"`--mbr`, by {utility}", ("--mbr", *set_options(f"mbr_utility={utility}")))
    yield _reranked(rerankers[:1], [0.0])
    together = [list(rerankers)] if len(rerankers) > 1 else []
    for some in [[one] for one in rerankers] + together:
        yield _reranked(some, bench.weights(tuning, some))


def table(bench: Bench, corpus: Corpus, rerankers: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of a table."""
    measured = corpus.half(1)
    references = [measured.references]
    yield f"| {corpus.name}, {len(measured.sources)} sentences | BLEU | difference | chrF | difference | time |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    first, *others = searches(bench, corpus.half(0), rerankers)
    baseline, seconds_of_baseline = bench.translated(measured, first)
    yield f"| {first.name} | {bleu(baseline, references).score:.1f} | | {chrf(baseline, references).score:.1f} | | 1.0 |"
    for search in others:
        texts, seconds = bench.translated(measured, search)
        gains = [score_difference(baseline, texts, measured.references, metric=metric) for metric in METRICS]
        in_bleu, in_chrf = (f"{gain.score:+z.1f} ({gain.low:+z.1f} to {gain.high:+z.1f})" for gain in gains)
        yield (
            f"| {search.name} | {bleu(texts, references).score:.1f} | {in_bleu} | "
            f"{chrf(texts, references).score:.1f} | {in_chrf} | {seconds / seconds_of_baseline:.1f} |"
        )


def _reranked(rerankers: Sequence[Path], weights: Sequence[float]) -> Search:
    """Return a search whose beam other runs rank."""
    runs = (word for one in rerankers for word in ("--rerank", str(one)))
    tuned = set_options(f"rerank_weights={json.dumps(list(weights))}")
    shown = ", ".join(f"{weight:g}" for weight in weights)
    name = f"`--beam {WIDE} --rerank` {_names(rerankers)}, weight {shown}"
    return Search(name, ("--beam", str(WIDE), *runs, *tuned))


def _names(runs: Sequence[Path]) -> str:
    """Return the names of runs."""
    return " and ".join(one.name for one in runs)


def _processor_seconds() -> float:
    """Return the processor time of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Translate, and print or write the tables."""
    parser = argparse.ArgumentParser(description="Choosing among hypotheses.")
    parser.add_argument("run", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rerank", type=Path, action="append", required=True)
    parser.add_argument("--test", nargs=3, action="append", required=True, metavar=("NAME", "SOURCE", "REFERENCE"))
    parser.add_argument("--first", type=int, help="use this many lines of each test set")
    parser.add_argument("--penalty", type=float, default=1.2, help="length penalty of all searches")
    parser.add_argument("--core", type=int, help="bind to this core, with one thread")
    parser.add_argument("--no-mbr", action="store_true", help="leave out minimum Bayes risk, which takes longest")
    parser.add_argument("--write", choices=SECTIONS, help="write the tables into this section of docs/reranking.md")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.core is not None:
        bind_to(options.core)
    bench = Bench(options.run, options.work, options.penalty, options.core, risk=not options.no_mbr)
    lines = []
    for name, *files in options.test:
        sources, references = ([*read_lines(Path(file))][: options.first] for file in files)
        for line in table(bench, Corpus(name, sources, references), options.rerank):
            print(line, flush=True)
            lines.append(line)
        lines.append("")
    text = "\n".join([*lines, f"{machine()}, commit `{commit()}`."])
    if options.write:
        replace_between(PAGE, (f"<!-- measured by benchmarks.reranking: {options.write} -->", "<!-- end -->"), text)


if __name__ == "__main__":
    main()
