"""How well a statistical aligner links words: the error rates that attention has to be compared with.

    python benchmarks/alignment.py FOLDER EN VI [--pairs N]

FOLDER holds `train` and `dev` texts (plain or compressed) and the links of dev that people made: train.EN, train.VI, dev.EN,
dev.VI, dev.align. The aligner is eflomal (Oestling and Tiedemann 2016; `pip install eflomal` into any environment, and name
its command with --aligner): IBM model 1, then a hidden Markov model on top, then fertilities on top, by Gibbs sampling. It
learns from train and dev together, in lower case, without the links, in one pass for both directions. Words of dev without letter
or digit do not count. Where the folder or the aligner is absent, the reason is printed and nothing is measured.
"""

import argparse
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.data.lines import read_lines
from dragoman.data.links import spaced
from dragoman.metrics.alignment import alignment_scores, words_only
from dragoman.metrics.symmetrisation import symmetrise
from dragoman.text.links import Links, parse_links

MODELS = {"IBM model 1": 1, "HMM": 2, "HMM with fertility": 3}
"""What eflomal calls them."""

Pair = tuple[list[str], list[str]]


def find(folder: Path, name: str) -> Path:
    """Return a file of the folder, compressed or not. FileNotFoundError where there is none."""
    for suffix in ("", ".gz", ".xz", ".zst"):
        if (path := folder / f"{name}{suffix}").exists():
            return path
    raise FileNotFoundError(f"{folder} holds no {name}")


def read_part(folder: Path, part: str, languages: Sequence[str]) -> list[Pair]:
    """Return the words of one part of the corpus."""
    source, target = (map(spaced, read_lines(find(folder, f"{part}.{language}"))) for language in languages)
    return list(zip(source, target, strict=True))


def learn(aligner: str, pairs: Iterable[Pair], model: int) -> tuple[list[Links], list[Links]]:
    """Run the aligner on pairs; return the links of both directions, each as (source, target)."""
    with tempfile.TemporaryDirectory() as name:
        joint, forward, backward = (Path(name) / part for part in ("joint", "forward", "backward"))
        lines = (f"{' '.join(source)} ||| {' '.join(target)}\n".lower() for source, target in pairs)
        joint.write_text("".join(lines), encoding="utf-8")
        options = ["-m", str(model), "-i", str(joint), "-f", str(forward), "-r", str(backward)]
        subprocess.run([aligner, *options], check=True)
        found = ([parse_links(line) for line in read_lines(path)] for path in (forward, backward))
        return next(found), next(found)


def rates(found: tuple[list[Links], list[Links]], dev: Sequence[Pair], gold: Sequence[Links]) -> dict[str, list[float]]:
    """Return error rate, precision and recall of both directions and of each way to join them."""
    forward, backward = found
    ways: dict[str, list[Links]] = {"source to target": forward, "target to source": backward}
    for how in ("intersection", "union", "grow-diag-final-and"):
        ways[how] = [symmetrise(one, other, how) for one, other in zip(forward, backward, strict=True)]
    kept = [words_only(links, *pair) for links, pair in zip(gold, dev, strict=True)]
    table = {}
    for name, links in ways.items():
        score = alignment_scores([words_only(one, *pair) for one, pair in zip(links, dev, strict=True)], kept)
        table[name] = [round(value, 4) for value in (score.error_rate, score.precision, score.recall)]
    return table


def main() -> None:
    """Measure, and print one JSON object per model."""
    parser = argparse.ArgumentParser(description="Error rates of a statistical word aligner.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("languages", nargs=2, metavar="LANGUAGE")
    parser.add_argument("--pairs", type=int, help="learn from so many pairs of train; by default from all")
    parser.add_argument("--aligner", default="eflomal-align", help="command of the aligner")
    options = parser.parse_args()
    command = shutil.which(options.aligner)
    if command is None:
        print(f"skipped: there is no {options.aligner}; install it with `pip install eflomal`")
        return
    if not options.folder.is_dir():
        print(f"skipped: there is no folder {options.folder}")
        return
    train = read_part(options.folder, "train", options.languages)
    dev = read_part(options.folder, "dev", options.languages)
    gold = [parse_links(line) for line in read_lines(find(options.folder, "dev.align"))]
    pairs = [*dev, *itertools.islice(train, options.pairs)]
    for name, model in MODELS.items():
        begin = time.monotonic()
        forward, backward = learn(command, pairs, model)
        seconds = round(time.monotonic() - begin, 1)
        table = rates((forward[: len(dev)], backward[: len(dev)]), dev, gold)
        print(json.dumps({"model": name, "pairs": len(pairs), "seconds": seconds, **table}), flush=True)


if __name__ == "__main__":
    main()
