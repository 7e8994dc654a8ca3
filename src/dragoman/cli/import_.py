"""`dragoman import`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import announced, note, print_path


def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Folder or .zip of a pretrained model, or its name in the cache of Hugging Face."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the new run.")],
    source_language: Annotated[
        str | None, typer.Option("--from", metavar="LANGUAGE", help="Source language, if the model does not name it.")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option("--to", metavar="LANGUAGE", help="Target language, if the model does not name it.")
    ] = None,
    source_prefix: Annotated[
        str,
        typer.Option(help="For T5: words before every source, such as `en: `. [default: those in its configuration]"),
    ] = "",
    target_prefix: Annotated[str, typer.Option(help="For T5: words with which every translation begins.")] = "",
) -> None:
    """Make a run from a pretrained model.

    Models of opus-mt (Marian), NLLB, M2M100, mBART-50, Pegasus and T5 can be imported.

    The run works with every command that needs no training corpus. Weights and tokens stay exactly as they are.

    If the package transformers is installed, the run must compute the same as it does before it is kept.
    """
    with announced(f"Importing {source}"):
        from dragoman.pretrained.job import import_model

        languages, prefixes = (source_language, target_language), (source_prefix, target_prefix)
        made = import_model(source, out, languages=languages, prefixes=prefixes, say=note)
    if made.proof is not None:
        note(f"Proved with {made.proof.reader}: {made.proof}.")
    note(f"{made.parameters:,} parameters, family {made.family}.")
    print_path(made.folder)
