"""`dragoman split`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.check import Columns, SourceLanguage, TargetLanguage
from dragoman.cli.console import ProgressDisplay, note, print_path
from dragoman.cli.files import corpora_of
from dragoman.errors import InputError, number_of, shell_path


def split(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Two files that match line by line, or .tsv, .jsonl or .tmx files with both sides."
        ),
    ],
    out: Annotated[Path, typer.Option(help="New folder for train, dev and test files.")],
    source_language: SourceLanguage = None,
    to: TargetLanguage = None,
    columns: Columns = None,
    dev: Annotated[
        int | None,
        typer.Option(min=1, help="Pairs of dev. [default: a twentieth of all, 200 to 1,000, but at most a tenth]"),
    ] = None,
    test: Annotated[int | None, typer.Option(min=0, help="Pairs of test. [default: as many as of dev]")] = None,
) -> None:
    """Split parallel text into training, dev and test files.

    Dev and test get pairs that share neither sentence with any other pair, so no score is better than it should be because the
    model has learned the answer, and no training pair is lost. The folder is laid out as `own-files` and `dragoman adapt` expect.
    """
    from dragoman.data.settings import DataSettings
    from dragoman.jobs.split import split
    from dragoman.settings import parse

    tables, (source, target) = corpora_of(files, (source_language, to), columns)
    if source is None or target is None:
        raise InputError(
            "the names of these files do not say what their two languages are; give them with --from and --to"
        )
    if source == target:
        raise InputError(f"both languages are `{source}`; give two with --from and --to")
    data = parse(DataSettings, {"source": source, "target": target, "train": tables})
    display = ProgressDisplay()
    try:
        done = split(
            data, out, dev=dev, test=test, progress=lambda pairs: display.show(f"{number_of(pairs, 'pair')} read")
        )
    finally:
        display.close()
    note(str(done))
    note(
        f"Train with: dragoman train own-files --set {shell_path(f'data.root={out}')} --set data.source={source} "
        f"--set data.target={target} --out RUN"
    )
    print_path(out)
