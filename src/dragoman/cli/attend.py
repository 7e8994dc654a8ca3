"""`dragoman attend`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.console import note, print_path
from dragoman.cli.loading import choose_languages, load_translator
from dragoman.cli.options import Device, Languages, Run
from dragoman.errors import InputError


def attend(
    run: Run,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="Source sentence.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Picture to write: .png, .svg or .html.")],
    languages: Languages,
    target: Annotated[str | None, typer.Option(help="Translation. [default: the model's own]")] = None,
    previous: Annotated[
        list[str] | None,
        typer.Option(help="For a document model: an earlier sentence; may be repeated, the nearest last."),
    ] = None,
    attention: Annotated[
        Literal["cross", "encoder", "decoder"],
        typer.Option(
            help="cross: from the translation to the source; encoder, decoder: self-attention in the source, in the translation."
        ),
    ] = "cross",
    pieces: Annotated[
        bool, typer.Option("--pieces", help="Show the model's subword tokens instead of whole words.")
    ] = False,
    device: Device = "auto",
) -> None:
    """Draw what a run attends to, by layer and head.

    With --previous, two more pictures show how the model attended to the earlier sentences: to their words, and to each sentence.
    """
    from dragoman.inspection import draw
    from dragoman.inspection.rendering import check_picture

    check_picture(output)
    translator = load_translator(run, device=device)
    if not translator.source.words(sentence):
        raise InputError("the sentence is empty; give at least one word")
    to = choose_languages(translator, languages)
    document = None
    if previous:
        from dragoman.inference.context_attention import read_previous

        document = read_previous(translator.models[0], translator.source, sentence, previous=previous)
    context = [previous or []]
    translation = target if target is not None else translator.translate([sentence], previous=context, to=to)[0].text
    if not translator.target.words(translation):
        raise InputError("the translation is empty, so there is nothing to draw; give one with --target")
    if attention == "cross":
        (reading,) = translator.attention_maps([sentence], [translation], previous=context, to=to)
        title = f"{sentence}  →  {translation}"
    else:
        reading = translator.self_attention_map(sentence, translation, of=attention, to=to)
        title = f"Self-attention of the {attention}: {sentence if attention == 'encoder' else translation}"
    draw(reading.picture(title, pieces=pieces), output)
    note(f"{sentence}  →  {translation}")
    print_path(output)
    if document is not None:
        note(document.table())
        pictures = {"words": document.picture_of_words, "sentences": document.picture_of_sentences}
        for level, picture in pictures.items():
            path = output.with_stem(f"{output.stem}-previous-{level}")
            draw(picture(f"Previous {level} read by: {sentence}"), path)
            print_path(path)
