"""`dragoman fill`."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import announced
from dragoman.cli.files import given_or_standard_input
from dragoman.cli.options import CHUNK, Device, Run

if TYPE_CHECKING:
    from dragoman.inference.mask_filler import Filled


def fill(
    run: Run,
    sentence: Annotated[
        str | None,
        typer.Argument(
            metavar="SENTENCE", help="Sentence that contains [MASK]. [default: each line of standard input]"
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Number of candidates to print for each [MASK].")] = 5,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per sentence, with all probabilities.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Fill each [MASK] with the most probable token.

    The run is a masked language model.
    The completed sentence is printed first, then the most probable tokens for each [MASK] with their probabilities.
    """
    with announced(f"Loading {run}"):
        from dragoman.inference.mask_filler import MaskFiller

        filler = MaskFiller.load(run, device=device)
    for lines, first in given_or_standard_input(sentence, CHUNK):
        for number, line in enumerate(lines, first):
            name = f"line {number} of standard input" if sentence is None else "the sentence"
            print(_filled_text(filler.fill(line, top=top, name=name), as_json=as_json), flush=True)


def _filled_text(filled: "Filled", *, as_json: bool) -> str:
    """Write a completed sentence and its candidates; blanks are numbered from 1 if there are several."""
    if as_json:
        return json.dumps(asdict(filled), ensure_ascii=False)
    several = len(filled.blanks) > 1
    rows = [
        f"  {f'{number}  ' if several else ''}{candidate.probability:.4f}  {candidate.text}"
        for number, candidates in enumerate(filled.blanks, 1)
        for candidate in candidates
    ]
    return "\n".join([filled.text, *rows])
