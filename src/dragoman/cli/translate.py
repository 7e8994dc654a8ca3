"""`dragoman translate`."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dragoman.cli.console import announced, note
from dragoman.cli.files import standard_input
from dragoman.cli.loading import choose_languages
from dragoman.cli.options import CHUNK, Device, Languages, Search, decoding_options


def translate(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="A run or an export, or several runs that translate as an ensemble."),
    ],
    languages: Languages,
    search: Search,
    n_best: Annotated[int, typer.Option(min=1, help="Number of translations of each line.")] = 1,
    align: Annotated[bool, typer.Option("--align", help="Append word alignments as ` ||| 0-0 1-2`.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per translation, with scores.")
    ] = False,
    unknown: Annotated[
        Literal["keep", "replace"],
        typer.Option(help="Replace each unknown word with the source word that it attends to most."),
    ] = "keep",
    engine: Annotated[
        Literal["auto", "torch", "ctranslate2"],
        typer.Option(help="Inference engine; auto uses CTranslate2 if an export supports what is asked for."),
    ] = "auto",
    device: Device = "auto",
) -> None:
    """Translate standard input line by line.

    There is one line of standard output for each line of input, also for empty ones.

    A document model also reads the lines before each line; an empty line starts a new document.

    With --n-best, every translation is on its own line: LINE ||| TEXT ||| SCORE, with lines counted from 0; an empty one has 1.
    """
    options = decoding_options(search.settings, beam=search.beam, n_best=n_best, mbr=search.mbr, rerank=search.rerank)
    with announced(f"Loading {', '.join(map(str, runs))}"):
        from dragoman.inference.engines import load_translator

        translator = load_translator(
            *runs, engine=engine, attention=align or unknown == "replace", device=device, **options
        )
    _, to = choose_languages(translator, languages)
    numbered = translator.settings.n_best > 1
    number = 0
    before: list[str] = []
    for chunk in standard_input(CHUNK):
        _note_all(translator.remarks(chunk, first=number + 1))
        lines = [*before, *chunk]
        with announced("Translating") if number == 0 else nullcontext():  # the first time, C++ may be compiled
            translations = translator.translate(
                chunk,
                attention=align,
                replace_unknowns=unknown == "replace",
                first=number + 1,
                previous=translator.preceding(lines)[len(before) :],
                to=to,
            )
        before = lines[len(lines) - translator.previous :]
        for index, best in enumerate(translations, number):
            for translation in (best, *best.alternatives):
                links = _links(translation, translator.view) if align else ""
                print(_line(index, translation, links, as_json=as_json, numbered=numbered))
        number += len(chunk)
        print(end="", flush=True)


def _note_all(remarks: list[str]) -> None:
    """Print each remark on standard error."""
    for remark in remarks:
        note(remark)


def _links(translation: Any, view: Any) -> str:
    """Return the word alignments of a translation, if it has any."""
    from dragoman.text.links import format_links

    return "" if translation.reading is None or view is None else format_links(view.links(translation.reading))


def _line(number: int, translation: Any, links: str, *, as_json: bool, numbered: bool) -> str:
    """Write one translation in the format that the options request."""
    if as_json:
        table = {
            "line": number,
            "translation": translation.text,
            "score": translation.score,
            "log_prob": translation.log_prob,
        }
        return json.dumps(table | ({"alignment": links} if links else {}), ensure_ascii=False)
    text = f"{translation.text} ||| {links}" if links else translation.text
    return f"{number} ||| {text} ||| {translation.score:.6f}" if numbered else text
