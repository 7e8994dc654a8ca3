"""What monolingual text and translations gain where pairs are few, all models trained on equally many target tokens.

    python -m benchmarks.more_data FOLDER WORK [--source en] [--target vi] [--tokens N] [--core N] [--only NAME ...] [--write]

FOLDER has the pairs, `train.en` and `train.vi`, `dev.en` and `dev.vi`, and sentences of the target language without a
translation, `monolingual.vi`. The models are those of the recipe own-files. WORK keeps the runs; those that are finished are not
made again. With --write the table goes into docs/more-data.md.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.command import dragoman, resume_option, set_options
from benchmarks.pages import replace_between
from benchmarks.schedule import ROOT

from dragoman.machine.provenance import commit, machine

PAGE = ROOT / "docs" / "more-data.md"
MARKS = ("<!-- measured by benchmarks.more_data -->", "<!-- end -->")
REPEAT = 2
"""How often the real pairs are seen beside one reading of the other text."""
ROWS = ("pairs", "noised", "continued", "beam", "samples", "diversified")
"""The models that are compared."""


@dataclass(frozen=True)
class Row:
    """One model: what it learned from, and its scores on dev."""

    name: str
    passes: tuple[float, ...]
    """Passes over the corpora of one training after another."""
    tokens: int
    bleu: float
    chrf: float

    def __str__(self) -> str:
        cells = (self.name, " + ".join(f"{passes:.1f}" for passes in self.passes), f"{self.tokens / 1e6:.1f}")
        return f"| {' | '.join(cells)} | {self.bleu:.1f} | {self.chrf:.1f} |"


@dataclass(frozen=True)
class Bench:
    """The corpora, the runs, and how they are trained."""

    folder: Path
    work: Path
    source: str
    target: str
    tokens: int
    core: int | None

    def train(
        self,
        name: str,
        recipe: str = "own-files",
        *,
        corpora: Sequence[Any] = (),
        backwards: bool = False,
        share: float = 1.0,
        settings: Sequence[str] = (),
    ) -> Path:
        """Train a run on a share of the tokens, unless that is done."""
        run = self.work / name
        if _finished(run):
            return run
        source, target = (self.target, self.source) if backwards else (self.source, self.target)
        given = [
            "training.minutes=null",
            f"training.tokens={share * self.tokens:.0f}",
            *settings,
            f"data.root={self.folder}",
            f"data.source={source}",
            f"data.target={target}",
            f"data.test={json.dumps([_files('dev')])}",
            *([f"data.train={json.dumps(list(corpora))}"] if corpora else []),
        ]
        self._dragoman(name, "train", recipe, *set_options(*given), "--out", str(run), *resume_option(run))
        return run

    def back_translations(self, name: str, run: Path, *options: str) -> Path:
        """Translate the monolingual text, unless that is done."""
        file = self.work / f"{name}.tsv"
        if not file.exists():
            begun = resume_option(Path(f"{file}.translations"))
            text = str(self.folder / f"monolingual.{self.target}")
            self._dragoman(name, "backtranslate", str(run), text, "--out", str(file), *options, *begun)
        return file

    def diversified(self, runs: Sequence[Path]) -> Path:
        """Translate the pairs with runs of both directions, unless that is done."""
        folder = self.work / "translations"
        if not (folder / "recipe.yaml").exists():
            self._dragoman("translations", "diversify", *map(str, runs), "--out", str(folder), *resume_option(folder))
        return folder / "recipe.yaml"

    def _dragoman(self, name: str, *arguments: str) -> None:
        """Run a command, and keep what it prints."""
        dragoman(*arguments, log=self.work / f"{name}.log", core=self.core)


def rows(bench: Bench, only: Sequence[str] = ROWS) -> Iterator[Row]:
    """Train, and yield what each kind of data gave."""
    pairs = {**_files("train"), "repeat": REPEAT}
    noised = [pairs, {"text": "monolingual.{target}", "noised": True}]
    if "pairs" in only:
        yield row("the pairs alone", bench.train("pairs"))
    if "noised" in only:
        yield row("and noised text", bench.train("noised", corpora=noised))
    if "continued" in only:
        first = bench.train("first", corpora=noised, share=2 / 3)
        second = bench.train("continued", share=1 / 3, settings=[f"model.start_from.whole={first}"])
        yield row("and noised text, then the pairs alone", first, second)
    for name, title, options in (
        ("beam", "and back-translated text, beam", ()),
        ("samples", "and back-translated text, `--sample`", ("--sample",)),
    ):
        if name in only:
            made = bench.back_translations(name, bench.train("backwards", backwards=True), *options)
            yield row(title, bench.train(f"with-{name}", corpora=[pairs, {"tsv": str(made), "tagged": True}]))
    if "diversified" in only:
        runs = bench.train("pairs"), bench.train("backwards", backwards=True)
        yield row("and their translations (diversified)", bench.train("diversified", str(bench.diversified(runs))))


def row(name: str, *runs: Path) -> Row:
    """Read what a training has written, or several, one after the other: the scores are those of the last."""
    (scores,) = json.loads((runs[-1] / "test.json").read_text(encoding="utf-8")).values()
    tokens = sum(json.loads((run / "manifest.json").read_text(encoding="utf-8"))["cost"]["tokens"] for run in runs)
    return Row(name, tuple(map(_passes, runs)), tokens, *(scores[metric]["score"] for metric in ("bleu", "chrf2")))


def _passes(run: Path) -> float:
    """Return how often a training has read its corpus."""
    records = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return max(float(record["epoch"]) for record in records if "epoch" in record)


def table(found: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| trained on | passes | million target tokens | BLEU | chrF |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    yield from map(str, found)


def _files(part: str) -> dict[str, str]:
    """Return the two files of a part of the corpus."""
    return {side: f"{part}.{{{side}}}" for side in ("source", "target")}


def _finished(run: Path) -> bool:
    """Tell whether a training has ended, and its test."""
    return (run / "test.json").exists() and not (run / "training").exists()


def main() -> None:
    """Train, and print or write the table."""
    parser = argparse.ArgumentParser(description="Monolingual text and translations beside pairs.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="vi")
    parser.add_argument("--tokens", type=int, default=3_000_000)
    parser.add_argument("--core", type=int, help="bind to this core, with one thread")
    parser.add_argument("--only", nargs="+", default=ROWS, choices=ROWS)
    parser.add_argument("--write", action="store_true", help="write the table into docs/more-data.md")
    options = parser.parse_args()
    if set(options.only) != set(ROWS) and options.write:
        parser.error("--write needs all rows; leave out --only")
    options.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(
        options.folder.absolute(), options.work.absolute(), options.source, options.target, options.tokens, options.core
    )
    found = []
    for one in rows(bench, options.only):
        print(one, file=sys.stderr, flush=True)
        found.append(one)
    text = "\n".join([*table(found), "", f"{machine()}, commit `{commit()}`."])
    print(text)
    if options.write:
        replace_between(PAGE, MARKS, text)


if __name__ == "__main__":
    main()
