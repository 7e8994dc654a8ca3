"""`dragoman memory`, and what `dragoman translate` does with a translation memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import note
from dragoman.cli.files import read_sentences
from dragoman.errors import InputError

if TYPE_CHECKING:
    from dragoman.cli.documents import Computing
    from dragoman.jobs.recalling import RecallingTranslator
    from dragoman.text.frames import Between


def memory(
    store: Annotated[
        Path, typer.Argument(metavar="MEMORY.sqlite", help="The translation memory; created if it does not exist.")
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="A TMX file, or a text file with a sentence, a tab and its translation on each line; - is standard input.",
        ),
    ],
    source_language: Annotated[str, typer.Option("--from", metavar="LANGUAGE", help="Language of the sentences.")],
    to: Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Language of their translations.")],
) -> None:
    """Add translations to a translation memory.

    They replace earlier translations of the same sentences; a model's translations never replace them.
    """
    from dragoman.documents.memories import open_memory, read_table, read_tmx

    languages = (source_language, to)
    pairs = [
        pair
        for file in files
        for pair in (
            read_tmx(file, languages)
            if file.name.lower().endswith((".tmx", ".tmx.gz"))
            else read_table(read_sentences(file), "standard input" if str(file) == "-" else str(file))
        )
    ]
    opened = open_memory(store, languages)
    if not opened.keeps:
        raise InputError(f"{store} is only read; name a .sqlite file to which translations are to be added")
    try:
        opened.keep(pairs, confirmed=True)
        note(f"Translations added: {len(pairs):,}; {store} has {len(opened):,} from `{source_language}` into `{to}`.")
    finally:
        opened.close()


def check_memory(computing: "Computing", *, beside: bool = False) -> None:
    """Raise InputError if more is asked for `beside` one translation of each line, or what is near cannot be found."""
    if computing.memory is not None and beside:
        raise InputError(
            "a translation memory has one translation of a sentence, which is not assessed; remove --n-best, --confidence, "
            "--alarms, --rescue and --report, or --memory"
        )
    if computing.near is None:
        return
    from dragoman.documents.memories import NEAR

    if computing.memory is None:
        raise InputError("--near says how similar a sentence of a translation memory must be; name one with --memory")
    if not NEAR <= computing.near <= 1:
        raise InputError(f"--near is {computing.near:g}, but must be a similarity from {NEAR:g} to 1")


@contextmanager
def recalling(
    translator: Any, computing: "Computing", to: "Between", *, offers: bool
) -> Iterator["RecallingTranslator | None"]:
    """Give the translator with its memory, and say at the end how many sentences were in it; None without a memory."""
    if computing.memory is None:
        yield None
        return
    from dragoman.documents.memories import open_memory
    from dragoman.jobs.recalling import NO_TERMS, RecallingTranslator

    if to.source is None or to.target is None:
        raise InputError("a translation memory needs both languages; say which is that of the source with --from")
    if computing.near is not None and not translator.attends:
        raise InputError("--near needs a model that attends to the source, which this one does not; remove it")
    if computing.near is not None and translator.target.right_to_left:
        raise InputError(
            "--near gives the first words of translations, but this run writes from right to left; remove it"
        )
    languages = (to.source, to.target)
    opened = open_memory(computing.memory, languages)
    try:
        files = translator.settings.glossary
        terms = translator.terminology.glossary(files, languages) if files else NO_TERMS
        found = RecallingTranslator(translator, opened, offers=offers, near=computing.near, glossary=terms)
        yield found
        note(str(found))
    finally:
        opened.close()
