"""`dragoman attend`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import note
from dragoman.errors import InputError


def attend(
    run: Annotated[Path, typer.Argument(help="A run.")],
    sentence: Annotated[str, typer.Argument(help="A source sentence.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: .png, .svg or .html.")],
    target: Annotated[str | None, typer.Option(help="A translation; by default the model's own.")] = None,
    previous: Annotated[
        list[str] | None,
        typer.Option(help="A sentence that stands before, for a model of documents; once for each, the nearest last."),
    ] = None,
    pieces: Annotated[bool, typer.Option("--pieces", help="Show the model's pieces rather than words.")] = False,
) -> None:
    """Draw what a run attends to, layer by layer and head by head.

    With --previous, two more pictures show what was read in the sentences before: their words, and the sentences.
    """
    from dragoman.inference.context_attention import read_previous
    from dragoman.inference.translator import Translator
    from dragoman.inspection import draw

    if not sentence.strip():
        raise InputError("the sentence is empty; give at least one word")
    translator = Translator.load(run)
    document = read_previous(translator.models[0], translator.source, sentence, previous) if previous else None
    given = [previous or []]
    written = target if target is not None else translator.translate([sentence], previous=given)[0].text
    if not written.strip():
        raise InputError("the translation is empty, so there is nothing to draw; give one with --target")
    (reading,) = translator.read([sentence], [written], previous=given)
    draw(reading.picture(f"{sentence}  →  {written}", pieces=pieces), output)
    note(f"{sentence}  →  {written}")
    print(output)
    if document is not None:
        note(document.table())
        pictures = {"words": document.picture_of_words, "sentences": document.picture_of_sentences}
        for level, picture in pictures.items():
            path = output.with_stem(f"{output.stem}-previous-{level}")
            draw(picture(f"Previous {level} read by: {sentence}"), path)
            print(path)


COMMANDS: dict[str, Callable[..., None]] = {"attend": attend}
