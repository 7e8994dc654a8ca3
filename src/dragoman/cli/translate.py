"""`dragoman translate`."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.cli.console import announced, note
from dragoman.cli.documents import Computing, DocumentOptions, translate_file
from dragoman.cli.files import check_report, standard_input
from dragoman.cli.loading import choose_languages, note_searches
from dragoman.cli.memory import check_memory, recalling
from dragoman.cli.options import CHUNK, Languages, Search, Trust
from dragoman.cli.translations import Shown, Watch, assessing_engine, make_watch
from dragoman.errors import InputError, shell_path, shorten

if TYPE_CHECKING:
    from dragoman.text.frames import Between

SEVERAL = 3
"""A line of so many sentences is a paragraph, which a model of single sentences translates poorly."""


def translate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="A run or an export, or several runs that translate as an ensemble and search as the first; then the document, "
            "with --output.",
        ),
    ],
    languages: Languages,
    search: Search,
    trust: Trust,
    computing: Computing,
    document: DocumentOptions,
    n_best: Annotated[int, typer.Option(min=1, help="Number of translations of each line.")] = 1,
    align: Annotated[bool, typer.Option("--align", help="Append word alignments as ` ||| 0-0 1-2`.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per translation, with scores.")
    ] = False,
    unknown: Annotated[
        Literal["keep", "replace"],
        typer.Option(help="Replace each unknown word with the source word that it attends to most."),
    ] = "keep",
) -> None:
    """Translate standard input line by line.

    There is one line of standard output for each line of input, including empty ones.

    A document model also reads the lines before each line; an empty line starts a new document.

    With --output, the last argument is a document (txt, html, md, srt, vtt, po, xliff, tmx, csv, tsv, docx, pptx, xlsx, odt,
    odp, ods or epub, also .gz of the text ones), which is translated into another file and keeps its form.

    With --n-best, every translation is on its own line: LINE ||| TEXT ||| SCORE, with lines counted from 0, as in
    the `line` of --json; an empty line has one translation.
    """
    shown = Shown(align=align, confidence=trust.confidence, alarms=trust.alarms, as_json=as_json)
    options = search.options(n_best)
    assesses = shown.assesses or trust.rescue or trust.report is not None
    if document.requested:
        asked = shown.align or assesses or unknown == "replace"
        translate_file(runs, document, languages, computing=computing, options=options, as_json=as_json, extras=asked)
        return
    _check_only_runs(runs)
    check_memory(computing, beside=n_best > 1 or assesses)
    if trust.report is not None:
        check_report(trust.report)
    engine = assessing_engine(runs, computing.engine) if assesses else computing.engine
    with announced(f"Loading {', '.join(map(str, runs))}"):
        from dragoman.inference.engines import load_translator

        read = align or unknown == "replace" or computing.near is not None
        translator = load_translator(*runs, engine=engine, attention=read, device=computing.device, **options)
        to = choose_languages(translator, languages)
        watch = make_watch(translator, shown, rescues=trust.rescue, report=trust.report, to=to, device=computing.device)
    note_searches(translator, options)
    with recalling(translator, computing, to, offers=as_json) as remembers:
        watch = watch if remembers is None else Watch(remembers)
        _translate_lines(watch, shown, replaces=unknown == "replace", to=to)


def _translate_lines(watch: Watch, shown: Shown, *, replaces: bool, to: "Between") -> None:
    """Translate standard input, and print each chunk as soon as it is done."""
    translator = watch.translator
    numbered = translator.settings.n_best > 1
    number = 0
    before: list[str] = []
    paragraphs: list[int] = []
    for chunk in standard_input(CHUNK):
        _note_all(translator.remarks(chunk, first=number + 1))
        lines = [*before, *chunk]
        with announced("Translating") if number == 0 else nullcontext():  # the first time, C++ may be compiled
            translations = watch.translate(
                chunk,
                attention=shown.align,
                replace_unknowns=replaces,
                first=number + 1,
                previous=translator.preceding(lines)[len(before) :],
                to=to,
            )
        before = lines[len(lines) - translator.previous :]
        for index, best in enumerate(translations, number):
            for translation in (best, *best.alternatives):
                print(shown.line(index, translation, view=translator.view, numbered=numbered))
        paragraphs += [place for place, line in enumerate(chunk, number + 1) if _is_paragraph(line, to.source)]
        number += len(chunk)
        print(end="", flush=True)
    watch.conclude()
    if paragraphs:
        note(
            f"Lines with {SEVERAL} sentences or more: {len(paragraphs):,}, the first is line {paragraphs[0]:,}. A model that "
            "learned from single sentences may leave some out; this translates sentence by sentence: dragoman translate RUN "
            "FILE.txt -o OUT.txt"
        )


def _check_only_runs(paths: list[Path]) -> None:
    """Raise InputError for a sentence or a file of sentences after a run, which standard input is for."""
    for path in paths[1:]:
        if path.is_file():
            raise InputError(
                f"{path} is a file, not a run; give sentences as `dragoman translate {shell_path(paths[0])} < "
                f"{shell_path(path)}`, or a document with -o OUT"
            )
        if not path.exists():
            raise InputError(
                f"there is no run {shorten(str(path))}; sentences come from standard input: "
                f"`echo {shell_path(shorten(str(path)))} | dragoman translate {shell_path(paths[0])}`"
            )


def _is_paragraph(line: str, language: str | None) -> bool:
    """Tell whether a line has several sentences.

    >>> _is_paragraph("Dr. Ha left. Why? He was ill.", "en"), _is_paragraph("Dr. Ha left ... at 3 p.m.", "en")
    (True, False)
    """
    from dragoman.text.segments import segments

    return len(segments(line, language=language)) >= SEVERAL


def _note_all(remarks: list[str]) -> None:
    """Print each remark on standard error."""
    for remark in remarks:
        note(remark)
