"""`dragoman generate`, earlier called `dragoman continue`."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from dragoman.cli.console import announced
from dragoman.cli.files import given_or_standard_input
from dragoman.cli.options import CHUNK, Beam, Device, Run, SearchSettings, decoding_options


def generate(
    run: Run,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="Beginning of the text. [default: each line of standard input]"),
    ] = None,
    beam: Beam = None,
    sampling: Annotated[
        bool, typer.Option("--sample", help="Sample from the model's distribution instead of searching.")
    ] = False,
    n_best: Annotated[int, typer.Option(min=1, help="Number of continuations of each text.")] = 1,
    length: Annotated[int | None, typer.Option(min=1, help="Maximum number of tokens to generate.")] = None,
    settings: SearchSettings = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per continuation, with scores.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Continue a text to the end of its sentence.

    The run is a decoder-only language model. There is one line of standard output for each line of input.

    With --n-best, every continuation is on its own line: LINE ||| TEXT ||| SCORE, with lines counted from 0, as in
    the `line` of --json.
    """
    options = decoding_options(settings, beam=beam, n_best=n_best)
    options |= {"method": "sample"} if sampling else {}
    if length is not None:
        options = {"maximum_extra": length, **options, "maximum_length": length}
    with announced(f"Loading {run}"):
        from dragoman.inference.generator import TextGenerator

        generator = TextGenerator.load(run, device=device, **options)
    numbered = generator.settings.n_best > 1
    for lines, first in given_or_standard_input(text, CHUNK):
        for number, continuations in enumerate(generator.generate_texts(lines, first=first), first - 1):
            for one in continuations:
                if as_json:
                    print(json.dumps({"line": number, **asdict(one)}, ensure_ascii=False))
                else:
                    print(f"{number} ||| {one.text} ||| {one.score:.6f}" if numbered else one.text)
        print(end="", flush=True)
