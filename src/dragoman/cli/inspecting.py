"""`dragoman attend` and `align`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import note
from dragoman.cli.files import check_languages, read_aligned
from dragoman.errors import InputError

Layer = Annotated[int | None, typer.Option(min=1, help="Take this layer, from 1; by default the mean of all.")]
Head = Annotated[int | None, typer.Option(min=1, help="Take this head, from 1; by default the mean of all.")]


def attend(
    run: Annotated[Path, typer.Argument(help="A run.")],
    sentence: Annotated[str, typer.Argument(help="A source sentence.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: .png, .svg or .html.")],
    target: Annotated[str | None, typer.Option(help="A translation; by default the model's own.")] = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="Show the model's pieces rather than words.")] = False,
) -> None:
    """Draw what a run attends to, layer by layer and head by head."""
    from dragoman.inspection import draw
    from dragoman.translator import Translator

    if not sentence.strip():
        raise InputError("the sentence is empty; give at least one word")
    translator = Translator.load(run)
    written = target if target is not None else translator.translate([sentence])[0].text
    if not written.strip():
        raise InputError("the translation is empty, so there is nothing to draw; give one with --target")
    (reading,) = translator.read([sentence], [written])
    draw(reading.picture(f"{sentence}  →  {written}", pieces=pieces), output)
    note(f"{sentence}  →  {written}")
    print(output)


def align(
    run: Annotated[Path, typer.Argument(help="A run.")],
    source: Annotated[Path, typer.Argument(help="Source sentences, one a line, words between spaces.")],
    target: Annotated[Path, typer.Argument(help="Their translations.")],
    layer: Layer = None,
    head: Head = None,
) -> None:
    """Print word links i-j (source-target, from 0) for each pair: the source word most attended to by each target word."""
    from dragoman.metrics.alignment import format_links
    from dragoman.translator import Translator

    translator = Translator.load(run)
    check_languages(translator.languages, source, target)
    sources, targets = read_aligned(source, target)
    for reading in translator.read(sources, targets):
        print(format_links(reading.links(layer, head)))


COMMANDS: dict[str, Callable[..., None]] = {"attend": attend, "align": align}
