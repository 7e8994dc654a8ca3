"""`dragoman export`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.console import announced, note, print_path


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of a Transformer.")],
    out: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="Output folder. [default: RUN/exports/ctranslate2-QUANTIZATION]"),
    ] = None,
    to: Annotated[Literal["ctranslate2"], typer.Option("--to", help="Inference engine.")] = "ctranslate2",
    quantization: Annotated[
        Literal["int8", "float32"],
        typer.Option(help="Weight format: int8 is smaller and faster, float32 is exact."),
    ] = "int8",
) -> None:
    """Write a run's model for a faster inference engine.

    `dragoman translate` accepts the folder like a run.

    Both engines translate sentences of the dev corpus; if they differ by more than rounding, nothing is written.
    """
    with announced(f"Exporting {run}, and comparing both engines on the dev corpus"):
        from dragoman.conversion.job import export as export_run

        folder, agreement = export_run(run, out, quantization=quantization)
    note(
        f"{agreement.equal_greedy:.0%} of {agreement.sentences} sentences get the same translation with greedy search "
        f"({agreement.equal_beam:.0%} with beam search); log-probabilities differ by {agreement.mean_difference:.2g} per token "
        "on average."
    )
    print_path(folder)
