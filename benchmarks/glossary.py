"""What a glossary costs and brings: a test glossary from references, and runs that translate without and with it.

    python -m benchmarks.glossary make TRAIN_SOURCE TRAIN_TARGET SOURCE REFERENCE GLOSSARY
    python -m benchmarks.glossary measure GLOSSARY SOURCE REFERENCE RUN... [--times N] [--beam N]

`make` writes the glossary of a test set, with word alignments that are learned from training files: a source word of at least
4 letters is a term if each sentence with it has one of the at most 3 words in its reference to which it is linked most.
`measure` translates the test set with each run, on one thread: without the glossary, with it, and, with a run that was trained
with `text.glossary`, with it as that run does and as others do. Printed are the share of terms in the translations of the first
search and in the end, BLEU, how many sentences were searched again, and processor time relative to translating without the
glossary with the same run: the median of N interleaved measurements.
"""

import argparse
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch

from dragoman.atomic import write_text
from dragoman.data.aligner import learn_aligner
from dragoman.data.lines import read_lines
from dragoman.data.links import spaced
from dragoman.inference.torch_engine import TorchEngine
from dragoman.inference.translation import TermCounts, Translation
from dragoman.inference.translator import Translator
from dragoman.metrics.scores import bleu
from dragoman.runs.folder import open_run
from dragoman.text.glossary import Glossary, Term, Words
from dragoman.text.links import Links

LETTERS = 4
"""Least letters of a term and of its translations."""
VARIANTS = 3
"""Most translations of a term."""
_AROUND = re.compile(r"^\W+|\W+$")
_BEFORE = re.compile(r"^\w{1,2}['’](?=\w)")


@dataclass(frozen=True)
class Row:
    """One way to translate a test set."""

    name: str
    first: float
    """Share of terms in the translations of the first search, from 0 to 1."""
    all: float
    again: int
    """Sentences that were searched a second time."""
    bleu: float
    time: float
    """Processor time, 1 for the same run without the glossary."""

    def __str__(self) -> str:
        shares = f"{self.first:.1%} | {self.all:.1%} | {self.again}".replace("%", " %")
        return f"| {self.name} | {shares} | {self.bleu:.1f} | {self.time:.2f} |"


def bare(word: str) -> str:
    """Return a word as a glossary has it: lower case, without signs around it or an article before an apostrophe; else nothing.

    >>> [bare(word) for word in ("L'École,", "eau", "re-use", "2024")]
    ['école', '', '', '']
    """
    found = _BEFORE.sub("", _AROUND.sub("", word.casefold()))
    return found if len(found) >= LETTERS and found.isalpha() else ""


def terms_of(sources: Sequence[str], references: Sequence[str], links: Sequence[Links]) -> list[tuple[str, list[str]]]:
    """Return the words of sources that can be terms, those of most sentences first, each with its translations."""
    known = defaultdict[str, Counter[str]](Counter)
    for source, reference, linked in zip(sources, references, links, strict=True):
        given, written = ([bare(word) for word in spaced(text)] for text in (source, reference))
        targets = defaultdict[int, list[int]](list)
        for i, j in linked.possible:
            targets[i].append(j)
        for i, some in targets.items():
            if len(some) == 1 and given[i] and written[some[0]]:
                known[given[i]][written[some[0]]] += 1
    texts, others = [Words.of(text) for text in sources], [Words.of(text) for text in references]
    found = []
    for word, counts in known.items():
        variants = [text for text, _ in counts.most_common(VARIANTS)]
        term, translations = Term.of(word), [Term.of(text) for text in variants]
        places = [number for number, text in enumerate(texts) if term.is_in(text)]
        if all(any(one.is_in(others[number]) for one in translations) for number in places):
            found.append((len(places), word, variants))
    return [(word, variants) for _, word, variants in sorted(found, key=lambda one: (-one[0], one[1]))]


def make(options: argparse.Namespace) -> None:
    """Write the glossary of a test set."""
    train, target, sources, references = (
        list(read_lines(path))
        for path in (options.train_source, options.train_target, options.source, options.reference)
    )
    aligner = learn_aligner(zip(train, target, strict=True))
    found = terms_of(sources, references, list(map(aligner.links, sources, references)))
    write_text(options.glossary, "".join(f"{word}\t{'|'.join(variants)}\n" for word, variants in found))
    glossary = Glossary.in_any_case({word: variants[0] for word, variants in found})
    matched = sum(len({match.entry for match in glossary.matches(source)}) for source in sources)
    print(f"{len(found)} terms, {matched} in {len(sources)} sentences")


def measure(options: argparse.Namespace) -> None:
    """Print a table with rows for each run."""
    torch.set_num_threads(1)
    sources, references = (list(read_lines(path)) for path in (options.source, options.reference))
    print("| | terms in the first search | in the translation | searched again | BLEU | time |")
    print("| --- | --- | --- | --- | --- | --- |")
    for run in options.runs:
        for row in rows_of(run, options.glossary, (sources, references), beam=options.beam, times=options.times):
            print(row, flush=True)


def rows_of(
    run: Path, glossary: Path, texts: tuple[Sequence[str], Sequence[str]], *, beam: int, times: int
) -> Iterator[Row]:
    """Yield the rows of one run."""
    sources, references = texts
    opened, soft = open_run(run), Translator.load(run, beam=beam, device="cpu")
    reads, session = opened.recipe.text.glossary is not None, soft.engine.session
    unaware = Translator(
        TorchEngine(session), opened.source, opened.target, settings=soft.settings, languages=opened.directions
    )
    ways: dict[str, Callable[[], list[Translation]]] = {
        "without the glossary": lambda: unaware.translate(sources),
        "searched again alone": lambda: unaware.translate(sources, glossary=[glossary]),
    }
    if reads:
        ways["told the terms"] = lambda: soft.translate(sources, glossary=[glossary])
    seconds = defaultdict[str, list[float]](list)
    found: dict[str, list[Translation]] = {}
    for _ in range(times):
        for name, translate in ways.items():
            begun = time.process_time()
            found[name] = translate()
            seconds[name].append(time.process_time() - begun)
    plain = next(iter(ways))
    for name, translations in found.items():
        counts = TermCounts.of(found["searched again alone"] if name == plain else translations)
        ratio = median(one / base for one, base in zip(seconds[name], seconds[plain], strict=True))
        yield Row(
            f"{run.name}, {name}",
            counts.met / max(counts.matched, 1),
            (counts.met + (0 if name == plain else counts.forced)) / max(counts.matched, 1),
            0 if name == plain else counts.searched_again,
            bleu([one.text for one in translations], [references]).score,
            ratio,
        )


def main() -> None:
    """Do what the command line names."""
    parser = argparse.ArgumentParser(description="What a glossary costs and brings.")
    kinds = parser.add_subparsers(required=True)
    making = kinds.add_parser("make")
    for name in ("train_source", "train_target", "source", "reference", "glossary"):
        making.add_argument(name, type=Path)
    making.set_defaults(act=make)
    measuring = kinds.add_parser("measure")
    for name in ("glossary", "source", "reference"):
        measuring.add_argument(name, type=Path)
    measuring.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    measuring.add_argument("--times", type=int, default=3)
    measuring.add_argument("--beam", type=int, default=5)
    measuring.set_defaults(act=measure)
    options = parser.parse_args()
    options.act(options)


if __name__ == "__main__":
    main()
