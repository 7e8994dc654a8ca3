"""Attention and a supervised head as word aligners, both directions: `python -m benchmarks.atlas.guided EVBNEWS WORK`.

The Transformer of the atlas on short sentences of EVBNews, trained as on the phrasebook and with one head that learns the links
of the training pairs (Garg et al. 2019), from English to Vietnamese and back. Prints the table of docs/alignment.md. WORK gets
the slice as text files, in the form that `benchmarks/alignment.py` reads, so that an aligner can be measured on the same pairs.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.atlas.corpora import Aligned, evbnews
from benchmarks.atlas.kinds import chosen, recipe_of
from benchmarks.atlas.measuring import best_view, kept, read_pairs

from dragoman.inference.attention_map import HeadSelection
from dragoman.inference.translator import Translator
from dragoman.jobs.train import fit
from dragoman.metrics.alignment import alignment_error_rate
from dragoman.metrics.symmetrisation import symmetrise
from dragoman.runs.recipe import Recipe
from dragoman.settings import merge, parse
from dragoman.text.links import Links

GUIDED = {"layer": 2, "head": 1}
SLICE: dict[str, Any] = {"train": 8000, "words": (4, 15)}
STEPS = 2000
WORDS = {"text": {"size": 3000, "minimum_count": 2}}


def write_slice(folder: Path, name: str, pairs: Sequence[Aligned]) -> None:
    """Write pairs as two texts and their links."""
    parts = {
        "en": [pair.source for pair in pairs],
        "vi": [pair.target for pair in pairs],
        "align": [" ".join(f"{i}-{j}" for i, j in pair.links) for pair in pairs],
        "turned": [" ".join(f"{j}-{i}" for i, j in pair.links) for pair in pairs],
    }
    for suffix, lines in parts.items():
        (folder / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def train(folder: Path, languages: tuple[str, str], *, guided: bool) -> Translator:
    """Train the Transformer of the atlas in one direction, unless it is there already."""
    run = folder / f"{'-'.join(languages)}{'-guided' if guided else ''}"
    links = "align" if languages == ("en", "vi") else "turned"
    corpora = {
        part: [{"source": f"{part}.{languages[0]}", "target": f"{part}.{languages[1]}", "links": f"{part}.{links}"}]
        for part in ("train", "dev")
    }
    data = {"source": languages[0], "target": languages[1], "root": str(folder), **corpora}
    table: dict[str, Any] = merge(recipe_of(chosen(["transformer"])[0], "phrasebook", data, 1, STEPS), WORDS)
    if guided:
        table = merge(table, {"training": {"guided": GUIDED}})
    if not (run / "model.safetensors").exists():
        fit(parse(Recipe, table, where="the guided Transformer"), run)
    return Translator.load(run, device="cpu")


def links_of(
    translator: Translator,
    view: HeadSelection | None,
    choose: Sequence[Aligned],
    pairs: Sequence[Aligned],
    *,
    shift: bool,
) -> list[Links]:
    """Return the links of `pairs` in a view, or in the best head of dev."""
    taken = view or best_view(read_pairs(translator, choose), choose, shift=shift)
    return [taken.links(reading) for reading in read_pairs(translator, pairs)]


def main() -> None:
    """Train four models and print a line for each way to read links off them."""
    folder, work = Path(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    corpus = evbnews(folder, work, **SLICE)
    for name, pairs in (("train", corpus.learn), ("choose", corpus.choose), ("dev", corpus.measure)):
        write_slice(work, name, pairs)
    turned = {name: [flipped(pair) for pair in getattr(corpus, name)] for name in ("choose", "measure")}
    gold = [kept(Links(frozenset((i, j) for i, j in pair.links)), pair) for pair in corpus.measure]
    print(
        "| weights | English to Vietnamese | Vietnamese to English | grow-diag-final-and |\n| --- | --- | --- | --- |"
    )
    for name, guided, shift in (("vanilla", False, False), ("shifted", False, True), ("supervised head", True, True)):
        view = HeadSelection(GUIDED["layer"], GUIDED["head"], True) if guided else None
        there = links_of(train(work, ("en", "vi"), guided=guided), view, corpus.choose, corpus.measure, shift=shift)
        back = links_of(
            train(work, ("vi", "en"), guided=guided), view, turned["choose"], turned["measure"], shift=shift
        )
        both = [symmetrise(one, other.flipped()) for one, other in zip(there, back, strict=True)]
        found = (there, [one.flipped() for one in back], both)
        rates = [
            alignment_error_rate([kept(one, pair) for one, pair in zip(links, corpus.measure, strict=True)], gold)
            for links in found
        ]
        print(f"| {name} | " + " | ".join(f"{rate:.3f}" for rate in rates) + " |", flush=True)


def flipped(pair: Aligned) -> Aligned:
    """Return a pair as the other direction has it."""
    links = [(j, i) for i, j in pair.links]
    return Aligned(pair.target, pair.source, pair.target_words, pair.source_words, links)


if __name__ == "__main__":
    main()
