"""`dragoman fill` and `continue`: what language models do."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.files import standard_input
from dragoman.cli.translating import CHUNK, decoding_options

if TYPE_CHECKING:
    from dragoman.inference.mask_filler import Filled

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line, with all numbers.")]


def fill(
    run: Annotated[Path, typer.Argument(help="A run of the kind masked_lm.")],
    sentence: Annotated[
        str | None, typer.Argument(help="A sentence with [MASK] in it; by default each line of standard input.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Show so many pieces for each [MASK].")] = 5,
    as_json: AsJson = False,
) -> None:
    """Fill each [MASK] of a sentence with a piece of the run's vocabulary.

    The whole sentence comes first, then the likeliest pieces for each [MASK] with their probabilities.
    """
    from dragoman.inference.mask_filler import MaskFiller

    filler = MaskFiller.load(run)
    for lines, first in _given(sentence):
        for number, line in enumerate(lines, first):
            name = f"line {number} of standard input" if sentence is None else "the sentence"
            print(_filled(filler.fill(line, top=top, name=name), as_json=as_json), flush=True)


def continue_text(
    run: Annotated[Path, typer.Argument(help="A run of the kind decoder_only.")],
    text: Annotated[
        str | None, typer.Argument(help="How the text begins; by default each line of standard input.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses followed side by side; 1 is greedy.")] = None,
    draw: Annotated[
        bool, typer.Option("--sample", help="Draw from the model's distribution instead of searching.")
    ] = False,
    n_best: Annotated[int, typer.Option(min=1, help="Continuations of each text.")] = 1,
    length: Annotated[int | None, typer.Option(min=1, help="Most pieces to write.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A=C", help="Change a setting of the recipe's decoding section."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Continue a text to the end of its sentence: one line out for one line in.

    With --n-best, each continuation stands on a line of its own, after its line number: NUMBER ||| TEXT ||| SCORE.
    """
    from dragoman.inference.generator import TextGenerator

    options = decoding_options(settings, beam=beam, n_best=n_best)
    options |= ({"method": "sample"} if draw else {}) | ({} if length is None else {"maximum_length": length})
    continuer = TextGenerator.load(run, **options)
    for lines, first in _given(text):
        for number, found in enumerate(continuer.generate_texts(lines, first=first), first - 1):
            for one in found:
                if as_json:
                    print(json.dumps({"line": number, **asdict(one)}, ensure_ascii=False))
                else:
                    numbered = continuer.settings.n_best > 1
                    print(f"{number} ||| {one.text} ||| {one.score:.6f}" if numbered else one.text)
        print(end="", flush=True)


def _given(text: str | None) -> Iterator[tuple[list[str], int]]:
    """Yield the text given, or chunks of the lines of standard input, with the number of their first line."""
    if text is not None:
        yield [text], 1
        return
    first = 1
    for chunk in standard_input(CHUNK):
        yield chunk, first
        first += len(chunk)


def _filled(filled: "Filled", *, as_json: bool) -> str:
    """Write a filled sentence; blanks are counted from 1 where there are several."""
    if as_json:
        return json.dumps(asdict(filled), ensure_ascii=False)
    several = len(filled.blanks) > 1
    rows = [
        f"  {f'{number}  ' if several else ''}{one.probability:.4f}  {one.text}"
        for number, blank in enumerate(filled.blanks, 1)
        for one in blank
    ]
    return "\n".join([filled.text, *rows])


COMMANDS: dict[str, Callable[..., None]] = {"fill": fill, "continue": continue_text}
