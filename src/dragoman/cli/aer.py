"""`dragoman aer`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.files import read_aligned
from dragoman.cli.options import JsonObject
from dragoman.cli.word_links import check_lines, parse_lines, words


def aer(
    found: Annotated[
        Path,
        typer.Argument(
            metavar="FOUND", help="Word alignments, one sentence pair per line, as `dragoman align` prints them."
        ),
    ],
    gold: Annotated[
        Path, typer.Argument(metavar="GOLD", help="Manual word alignments: i-j is a sure link, ipj a possible one.")
    ],
    words_only: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="Ignore links of punctuation, given the texts."),
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Print the alignment error rate against manual alignments.

    0 is best. Precision and recall are printed too."""
    from dragoman.metrics.alignment import alignment_scores
    from dragoman.metrics.alignment import words_only as without_punctuation

    found_lines, gold_lines, *texts = read_aligned(found, gold, *(words_only or ()))
    found_links, gold_links = parse_lines(found, found_lines), parse_lines(gold, gold_lines)
    if words_only is not None:
        sources, targets = texts
        check_lines(found, found_links, sources, targets=targets)
        check_lines(gold, gold_links, sources, targets=targets)
        pairs = list(zip(words(sources), words(targets), strict=True))
        found_links, gold_links = (
            [without_punctuation(one_line, *pair) for one_line, pair in zip(links, pairs, strict=True)]
            for links in (found_links, gold_links)
        )
    score = alignment_scores(found_links, gold_links)
    if as_json:
        numbers = {name: round(value, 4) for name, value in asdict(score).items()}
        print(json.dumps(numbers | {"pairs": len(found_links)}))
        return
    print(
        f"AER {score.error_rate:.4f}  precision {score.precision:.4f}  recall {score.recall:.4f}  {len(found_links)} pairs"
    )
