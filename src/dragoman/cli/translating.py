"""`dragoman translate`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dragoman.cli.files import standard_input

CHUNK = 1024
"""Most lines that are translated together."""


def translate(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="A run or an export, or several runs that translate together."),
    ],
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses followed side by side; 1 is greedy.")] = None,
    n_best: Annotated[int, typer.Option(min=1, help="Translations of each line.")] = 1,
    align: Annotated[bool, typer.Option("--align", help="Append word links as ` ||| 0-0 1-2`.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A=C", help="Change a setting of the recipe's decoding section."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with scores.")] = False,
    unknown: Annotated[
        Literal["keep", "replace"], typer.Option(help="Replace unknown words by the source word most attended to.")
    ] = "keep",
    engine: Annotated[
        Literal["auto", "torch", "ctranslate2"],
        typer.Option(help="What computes; auto takes CTranslate2 where an export can do what is asked for."),
    ] = "auto",
) -> None:
    """Translate standard input to standard output, line by line: one line out for one line in, empty lines included.

    A model of documents also reads the lines before each; an empty line begins a new document.

    With --n-best, each translation stands on a line of its own, after its line number: NUMBER ||| TEXT ||| SCORE.
    """
    from dragoman.inference.engines import load_translator
    from dragoman.inference.translation import Translation
    from dragoman.text.links import format_links

    attention = align or unknown == "replace"
    options = decoding_options(settings, beam=beam, n_best=n_best)
    translator = load_translator(*runs, engine=engine, attention=attention, **options)
    numbered = translator.settings.n_best > 1
    number = 0
    before: list[str] = []
    for chunk in standard_input(CHUNK):
        lines = [*before, *chunk]
        translations = translator.translate(
            chunk,
            attention=align,
            replace_unknowns=unknown == "replace",
            first=number + 1,
            previous=translator.preceding(lines)[len(before) :],
        )
        before = lines[len(lines) - translator.previous :]
        for best in translations:
            shown: list[Translation] = [best, *best.alternatives]
            for one in shown:
                links = ""
                if align and one.reading is not None and translator.view is not None:
                    links = format_links(translator.view.links(one.reading))
                print(_line(number, one, links, as_json=as_json, numbered=numbered))
            number += 1
        print(end="", flush=True)


def decoding_options(settings: list[str] | None, *, beam: int | None, n_best: int | None = None) -> dict[str, Any]:
    """Turn options into settings of the decoding section; --beam 1 with nothing else is greedy search."""
    from dragoman.settings import override

    options: dict[str, Any] = override({}, settings or [])
    if beam is not None:
        options["beam"] = beam
        options.setdefault("method", "beam")
    if n_best is not None and n_best > 1:
        options["n_best"] = n_best
    return options


def _line(number: int, translation: Any, links: str, *, as_json: bool, numbered: bool) -> str:
    """Write one translation as the options ask."""
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


COMMANDS: dict[str, Callable[..., None]] = {"translate": translate}
