"""`dragoman check`."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import ProgressDisplay, note, print_path
from dragoman.cli.files import FORMS_OF_TEXT, check_report, corpora_of, is_table
from dragoman.cli.options import JsonObject, RecipeSettings
from dragoman.errors import InputError, SettingsError, number_of

if TYPE_CHECKING:
    from dragoman.data.settings import DataSettings
    from dragoman.doctor.examine import Verdict
    from dragoman.doctor.sizes import Limits

SourceLanguage = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="LANGUAGE", help="Language of the source, if the name of its file does not end in it."
    ),
]
TargetLanguage = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="LANGUAGE", help="Language of the target, if the name of its file does not end in it."
    ),
]
Columns = Annotated[
    tuple[int, int] | None,
    typer.Option(
        metavar="SOURCE TARGET", help="Columns of source and target in .tsv files, counted from 0. [default: 0 1]"
    ),
]


def check(
    corpus: Annotated[
        list[str],
        typer.Argument(
            metavar="RECIPE | FILE...",
            help="A recipe, two files that match line by line, or .tsv, .jsonl or .tmx files.",
        ),
    ],
    source_language: SourceLanguage = None,
    to: TargetLanguage = None,
    columns: Columns = None,
    settings: RecipeSettings = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write a page with histograms and examples.")
    ] = None,
    fix: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write cleaned copies and a log of every change to a new folder.")
    ] = None,
    as_json: JsonObject = False,
) -> None:
    """Examine parallel text before you train on it.

    Each kind of fault is reported with its name, its first line, the number of such lines, examples, and what to do. The exit
    code is 1 if there are errors. Training makes the same check by itself, and stops at errors.
    """
    from dragoman.doctor.cleaning import Cleaning, check_fixable
    from dragoman.doctor.examine import examine

    data, limits = _data(corpus, (source_language, to), columns, settings=settings)
    if fix is not None:
        check_fixable(data)
    if report is not None:
        check_report(report)
    display = ProgressDisplay()
    try:
        with nullcontext() if fix is None else Cleaning(fix) as cleaner:
            verdict = examine(
                data,
                limits=limits,
                progress=lambda pairs: display.show(f"{number_of(pairs, 'pair')} examined"),
                cleaner=cleaner,
            )
            _refuse_to_fix(verdict, fix)
    finally:
        display.close()
    if as_json:
        print(json.dumps(verdict.table(), ensure_ascii=False))
    else:
        _print(verdict)
    if cleaner is not None:
        note(cleaner.summary())
    if report is not None:
        from dragoman.doctor.page import write_page

        write_page(verdict, report)
        note(str(report)) if as_json else print_path(report)
    if verdict.of("error"):
        raise typer.Exit(1)


def _data(
    corpus: list[str],
    languages: tuple[str | None, str | None],
    columns: tuple[int, int] | None,
    *,
    settings: list[str] | None,
) -> "tuple[DataSettings, Limits | None]":
    """Return the corpora to examine, and what the recipe allows if there is one; the rest are options."""
    from dragoman.data.settings import DataSettings
    from dragoman.settings import parse

    if len(corpus) == 1 and not is_table(corpus[0]):
        from dragoman.jobs.examination import limits_of
        from dragoman.runs.recipe import load_recipe

        if any(languages) or columns is not None:
            raise InputError(
                "a recipe says what its languages and columns are; remove --from, --to and --columns, or, if this is no recipe "
                f"but parallel text, {FORMS_OF_TEXT}"
            )
        try:
            recipe = load_recipe(corpus[0], settings or [])
        except SettingsError as error:
            if not Path(corpus[0]).is_file() or Path(corpus[0]).suffix in (".yaml", ".yml"):
                raise
            raise InputError(f"{error}; if this is no recipe but parallel text, {FORMS_OF_TEXT}") from None
        return recipe.data, limits_of(recipe)
    if settings:
        raise InputError("--set changes settings of a recipe; remove it, or give a recipe")
    tables, (source, target) = corpora_of(corpus, languages, columns)
    source, target = source or "source", target or "target"
    if source == target:
        source, target = "source", "target"
    return parse(DataSettings, {"source": source, "target": target, "train": tables}), None


def _refuse_to_fix(verdict: "Verdict", fix: Path | None) -> None:
    """Raise InputError for an error that removing pairs does not mend."""
    hopeless = [one for one in verdict.of("error") if one.name in ("line-counts", "shifted")]
    if fix is not None and hopeless:
        raise InputError(f"nothing was written to {fix}, because {hopeless[0].sentence}")


def _print(verdict: "Verdict") -> None:
    """Print each finding with its examples, and how many there are."""
    for finding in verdict.findings:
        print(f"{finding.severity}: [{finding.name}] {finding.sentence}")
        for example in finding.examples:
            print(f"    {example}")
    print(f"{verdict.summary()}.")
