"""What another choice among the hypotheses gains on real text, and what it costs.

    python -m benchmarks.reranking RUN WORK --rerank RUN [--rerank RUN ...] --test NAME SOURCE REFERENCE [--test ...]
        [--first N] [--core N] [--write]

The odd lines of each test set (of the first N) tune the weights, and the even ones are measured: minimum Bayes risk, each run
that reranks alone, and all of them together, beside the beam of RUN's own recipe. Differences of BLEU have a 95 % interval
(paired bootstrap). WORK keeps all translations; those that are there are not made again. With --write the tables go into
docs/reranking.md.
"""

import argparse
import json
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command import changed, dragoman
from benchmarks.pages import replace_between
from benchmarks.schedule import ROOT

from dragoman.atomic import write_text
from dragoman.data.lines import read_lines
from dragoman.jobs.tune import tune
from dragoman.machine.provenance import commit, machine
from dragoman.metrics.scores import bleu, chrf
from dragoman.metrics.significance import bleu_difference

PAGE = ROOT / "docs" / "reranking.md"
MARKS = ("<!-- measured by benchmarks.reranking -->", "<!-- end -->")
LONGER = 1.4
"""A length penalty that alone may do what other choices do: they also prefer longer translations."""
WIDE = 10
"""Hypotheses of which a reranker chooses."""


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
class Choice:
    """A way to choose a translation, as options of `dragoman translate`."""

    name: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bench:
    """The run, and where its translations are kept."""

    run: Path
    work: Path
    core: int | None

    def weights(self, test: Corpus, others: Sequence[Path]) -> list[float]:
        """Return the weights that are best on a half, found once."""
        kept = self.work / f"{test.name}-{'-'.join(other.name for other in others)}.json"
        if not kept.exists():
            best = tune(self.run, others, test.sources, references=[test.references], decoding={"beam": WIDE})
            write_text(kept, json.dumps(best.weights))
        return list(json.loads(kept.read_text(encoding="utf-8")))

    def translated(self, test: Corpus, choice: Choice) -> tuple[list[str], float]:
        """Return the translations of a half, and the seconds of a processor that they took."""
        kept = self.work / f"{test.name}-{choice.name}.json"
        if not kept.exists():
            text = self.work / "source.txt"
            write_text(text, "\n".join(test.sources) + "\n")
            begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            out = dragoman("translate", str(self.run), *choice.options, core=self.core, given=text)
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin
            write_text(kept, json.dumps([out.removesuffix("\n").split("\n"), seconds], ensure_ascii=False))
        translations, seconds = json.loads(kept.read_text(encoding="utf-8"))
        return translations, seconds


def choices(bench: Bench, tuning: Corpus, others: Sequence[Path]) -> Iterator[Choice]:
    """Yield the ways to choose, the beam of the recipe first."""
    yield Choice("beam of the recipe")
    wide = ("--beam", str(WIDE))
    yield Choice(f"beam of {WIDE}", wide)
    yield Choice(f"`length_penalty` {LONGER}", (*changed(f"length_penalty={LONGER}"),))
    for utility in ("chrf", "bleu"):
        yield Choice(f"`--mbr`, {utility}", ("--mbr", *changed(f"mbr_utility={utility}")))
    together = [list(others)] if len(others) > 1 else []
    for some in [[other] for other in others] + together:
        weights = bench.weights(tuning, some)
        given = [word for other in some for word in ("--rerank", str(other))]
        name = " and ".join(other.name for other in some)
        shown = ", ".join(f"{weight:g}" for weight in weights)
        tuned = changed(f"rerank_weights={json.dumps(weights)}")
        yield Choice(f"`--rerank` {name}, weight {shown}", (*wide, *given, *tuned))


def table(bench: Bench, test: Corpus, others: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of a table."""
    measured = test.half(1)
    yield f"| {test.name}, {len(measured.sources)} sentences | BLEU | difference | chrF | time |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    base: tuple[list[str], float] | None = None
    for choice in choices(bench, test.half(0), others):
        texts, seconds = bench.translated(measured, choice)
        scores = f"{bleu(texts, [measured.references]).score:.1f}"
        base = base or (texts, seconds)
        gain = bleu_difference(base[0], texts, measured.references)
        shown = "" if texts is base[0] else f"{gain.score:+.1f} ({gain.low:+.1f} to {gain.high:+.1f})"
        alike = f"{chrf(texts, [measured.references]).score:.1f}"
        yield f"| {choice.name} | {scores} | {shown} | {alike} | {seconds / base[1]:.1f} |"


def main() -> None:
    """Translate, and print or write the tables."""
    parser = argparse.ArgumentParser(description="Choosing among hypotheses.")
    parser.add_argument("run", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rerank", type=Path, action="append", required=True)
    parser.add_argument("--test", nargs=3, action="append", required=True, metavar=("NAME", "SOURCE", "REFERENCE"))
    parser.add_argument("--first", type=int, help="use this many lines of each test set")
    parser.add_argument("--core", type=int, help="bind to this core, with one thread")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/reranking.md")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.run, options.work, options.core)
    lines = []
    for name, *files in options.test:
        sources, references = ([*read_lines(Path(file))][: options.first] for file in files)
        for line in table(bench, Corpus(name, sources, references), options.rerank):
            print(line, flush=True)
            lines.append(line)
        lines.append("")
    text = "\n".join([*lines, f"{machine()}, commit `{commit()}`."])
    if options.write:
        replace_between(PAGE, MARKS, text)


if __name__ == "__main__":
    main()
