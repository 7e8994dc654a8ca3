"""What `dragoman translate` does with a document."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dragoman.cli.console import ProgressDisplay, announced, note
from dragoman.cli.loading import choose_languages, note_searches
from dragoman.cli.memory import check_memory, recalling
from dragoman.cli.options import Device, Languages, number
from dragoman.documents.reading import Format, Reading
from dragoman.errors import InputError


@dataclass(frozen=True)
class Computing:
    """With what to translate beside the run."""

    engine: Annotated[
        Literal["auto", "torch", "ctranslate2"],
        typer.Option(help="Inference engine; auto uses CTranslate2 if an export supports what is asked for."),
    ] = "auto"
    device: Device = "auto"
    memory: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Translation memory: .tmx, which is only read, or .sqlite, which also keeps all new translations.",
        ),
    ] = None
    near: Annotated[
        float | None,
        typer.Option(
            parser=number("a number"),
            metavar="SIMILARITY",
            help="Begin a translation as that of a --memory sentence that begins alike and is at least this similar (0.75 to 1).",
        ),
    ] = None


@dataclass(frozen=True)
class DocumentOptions:
    """The document that is written, and how the one that is read is to be read."""

    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Translate a document, the last argument, into this file."),
    ] = None
    format: Annotated[Format | None, typer.Option(help="Format of the document. [default: by its name]")] = None
    column: Annotated[
        str | None,
        typer.Option(help="Column of a table to translate: its name in the first row, or its number from 1."),
    ] = None

    @property
    def requested(self) -> bool:
        """Tell whether a document is to be translated. InputError for options that need one."""
        if self.output is None and (self.format, self.column) != (None, None):
            raise InputError(
                "--format and --column describe a document; name the file for its translation with --output"
            )
        return self.output is not None


def translate_file(
    paths: Sequence[Path],
    document: DocumentOptions,
    languages: Languages,
    *,
    computing: Computing,
    options: dict[str, Any],
    as_json: bool,
    extras: bool,
) -> None:
    """Translate the document that is the last of the paths with the runs before it, and say what was mended."""
    assert document.output is not None
    if extras or options.get("n_best", 1) > 1:
        raise InputError(
            "a document is written with one translation and nothing beside it; remove --n-best, --align, --unknown, "
            "--confidence, --alarms, --rescue and --report, or --output"
        )
    check_memory(computing)
    *runs, path = paths
    if not runs or path.is_dir():
        raise InputError("--output needs a document: give it after the run, as in `dragoman translate RUN FILE -o OUT`")
    with announced(f"Loading {', '.join(map(str, runs))}"):
        from dragoman.inference.ctranslate2.folder import is_export
        from dragoman.inference.engines import load_translator
        from dragoman.jobs.translate_document import translate_document

        attention = computing.engine != "ctranslate2" and not any(is_export(run) for run in runs)
        translator = load_translator(
            *runs, engine=computing.engine, attention=attention, device=computing.device, **options
        )
    note_searches(translator, options)
    to = choose_languages(translator, languages)
    display = ProgressDisplay()
    with recalling(translator, computing, to, offers=as_json) as remembers:
        try:
            summary = translate_document(
                remembers or translator,
                path,
                document.output,
                reading=Reading(document.format, document.column, (to.source, to.target)),
                to=to,
                report=lambda done, total: show_texts(display, done, total),
            )
        finally:
            display.close()
        note(str(summary))
        if translator.settings.requires_terms and not summary.terms.matched:
            note(str(summary.terms))
    if as_json:
        table: dict[str, Any] = asdict(summary)
        if remembers is not None:
            near = {sentence: [asdict(one) for one in some] for sentence, some in remembers.near.items()}
            table |= {"memory": remembers.hits, "near": near}
            table |= {"prefixes": remembers.prefixes} if computing.near is not None else {}
        print(json.dumps(table, ensure_ascii=False))


def show_texts(display: ProgressDisplay, done: int, total: int) -> None:
    """Show how many texts of a document are translated; that none is, only where it can be replaced."""
    if done or display.live is not None:
        text = f"{done:,} of {total:,} sentences translated"
        display.show(text, share=done / max(total, 1), final=done == total)
