"""`dragoman export`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer


def export(
    run: Annotated[Path, typer.Argument(help="A run whose model is a Transformer.")],
    out: Annotated[
        Path | None, typer.Argument(help="Folder of the export. [default: RUN/exports/ctranslate2-QUANTIZATION]")
    ] = None,
    to: Annotated[Literal["ctranslate2"], typer.Option("--to", help="What will compute.")] = "ctranslate2",
    quantization: Annotated[
        Literal["int8", "float32"], typer.Option(help="How weights are kept: smaller and faster, or exact.")
    ] = "int8",
) -> None:
    """Write a run's model for another engine, which translates faster; `dragoman translate` takes the folder as a run.

    Both engines translate sentences of the dev corpus; where they differ by more than rounding, nothing is written.
    """
    from dragoman.cli.console import note
    from dragoman.conversion.job import export as export_run

    folder, agreement = export_run(run, out, quantization=quantization)
    note(
        f"{agreement.equal_greedy:.0%} of {agreement.sentences} sentences translate the same (greedy; {agreement.equal_beam:.0%} "
        f"with a beam); the log-probability of a token differs by {agreement.mean_difference:.2g} in the mean."
    )
    print(folder)


COMMANDS: dict[str, Callable[..., None]] = {"export": export}
